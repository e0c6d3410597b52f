"""Strings that somebody, somewhere, takes for something else than a string."""

from typing import Final

_YAML: Final = (
    *("yes", "No", "on", "y", "~", "null", "true", "<<", "=", "---", "...", "- a", "? b", ": c"),
    *("a: b", "a #b", "#c", "&anchor", "*alias", "!!str x", "!tag", "%YAML 1.1", "@at", "`tick`"),
    *("| literal", "> folded", "[a", "a]", "{a", "a}", "'", '"', "''", '"\\"', "a:", "-", "?", ":"),
    *("; }", "}\n- job_name: stolen", "x'\nscrape_configs: []\n#", ",", "\\", "\\n", "key: |-"),
)
_NUMBERS: Final = (
    *("0777", "0o17", "0x1F", "0b11", "1e3", "1_000", "12:30:45", "-0", "+1", ".5", "1.", ".inf"),
    *(".NaN", "NaN", "Infinity", "2026-01-31", "2026-01-31T12:00:00Z", "2001-12-14 21:59:43.10 -5"),
    *("-1", "0", "99999999999999999999", "1e999"),
)
_INVISIBLE: Final = (
    *("", " ", "  lead", "trail ", "\n", "\n\n", "two\nlines", "end\n", "end\n\n", " \n x", "x \n"),
    *(
        "\n lead",
        "a\n\n  b\n",
        "\t",
        "tab\tin",
        "\ttab first\nline",
        "\r",
        "a\r\nb",
        "\x85",
        "a\x85",
    ),
    *("\u2028", "a\u2029b", "\x00", "a\x00b", "\x07", "\x1b[31m", "\x7f", "\x80", "\x9f", "\xa0"),
    *("\ufeff", "a\ufeffb", "\ufffe", "\uffff", "\ufffd", "\u200b", "\u202e", "\ud800", "a\udfffb"),
    *("é", "日本語", "😀", "\U0010ffff", "\U000e0001"),
)
_TEMPLATES: Final = (
    *("$(POD_NAME)", "$(SHARD)", "a$(NODE_NAME)b", "$$", "$", "$1", "${1}", "${", "$x", "%s", "%"),
    *("{{ .Labels }}", "{{", "${HOME}", "`id`", "$(", "$()", "%00", "%zz"),
)
_EXPRESSIONS: Final = (
    *(
        ".*",
        "(",
        ")",
        "[",
        "a{2,1}",
        "a{1001}",
        "(?i)A",
        "(?P<n>x)",
        "(?=x)",
        "\\",
        "\\d",
        "*",
        "+?",
    ),
    *("a|b", "^", "(?s:.)", "\\pL", "\\C", "\\Q.*", "(a|", "[[:alpha:]]", "(((((((((a)))))))))"),
    *("(?<n>x)", "\\z", "\\8", "x**", "(?U)a", "[a-\\d]", "(?:(?:a{100}){100}){100}"),
)
_ADDRESSES: Final = (
    *("http://", "http://:80", "//host", "http://a b", "http://[::1", "http://[::1]:x", "host:80"),
    *("http://user:p@ss@host", "ftp://host", "http://host/%zz", "javascript:alert(1)", "::1"),
    *(
        "http://host:99999",
        "http://ho\nst",
        "http://日本",
        "HTTP://HOST",
        "mailto:a",
        "/",
        "?",
        "a/b",
    ),
    *(
        "unix:///x",
        "http://host/#f",
        "http://host?%",
        "http://%41",
        "1http://x",
        "http://<x>",
        "[::]",
    ),
)
_DURATIONS: Final = (
    *("30s", "0s", "0", "1ms", "1h30m", "30m1h", "-1s", "1.5s", "10", "s", "1y1y", "999999999y"),
    *("1d", "5 m", "１s"),
)
_NAMES: Final = (
    *("__name__", "__address__", "__tmp_hash", "job", "1abc", "a-b", "a.b", "a/b", "A" * 300),
    *("namespace", "tenant", "__meta_kubernetes_namespace", "__param_target", "/etc/passwd"),
)
_LONG: Final = ("x" * 5000, "é" * 40, "long words " * 40, "a\n" * 300)

HOSTILE: Final = (
    *_YAML, *_NUMBERS, *_INVISIBLE, *_TEMPLATES, *_EXPRESSIONS, *_ADDRESSES, *_DURATIONS, *_NAMES,
    *_LONG,
)  # fmt: skip

# What is right in some field or other, so that an object made at random has a chance.
PLAUSIBLE: Final = (
    *("a", "name", "http://example.com", "https://example.com:8443/path", "example.com", "host:80"),
    *("30s", "1m", "/metrics", "metrics", "eu-west-1", "(.+)", "team=a", "1Gi", "10MB", "0.5"),
    *("11111111-1111-1111-1111-111111111111", "127.0.0.1:9090", "unix:///var/run/docker.sock"),
)
