"""Templates and what Go says of them: `tests/live/test_golang_templates.py` asks Go itself."""

from typing import Final

from stoker.golang.template import BUILT_IN, Setting

FUNCTIONS: Final = ("query", "humanize")
SETTING: Final = Setting(functions={**BUILT_IN, **dict.fromkeys(FUNCTIONS, "")})

TAKEN: Final = (
    # Actions, pipelines, operands.
    "{{ 1 }}", "{{1}}", "{{- 1 -}}", "{{1  -}}", "{{\n1\t}}", "{{.}}", "{{.a.b}}", "{{$}}",
    "{{$.a}}", "{{nil}}", "{{true}}", "{{1|}}", "{{1 | print |}}", "{{1|(2)}}", "{{1|.a}}",
    "{{1|$}}", "{{(1).x}}", "{{(print 1).x.y}}", "{{print.x}}", "{{( 1 )}}", "{{(1|print|)}}",
    "{{print true nil .x $ 1.5 'a' `b` (1)}}", "{{query `a`|humanize}}", "}} {{1}} {", "{{1}}{",
    # Variables.
    "{{$x:=1}}{{$x}}", "{{$x := $x}}", "{{$x =1}}", "{{$ := 1}}", "{{$1:=2}}{{$1}}",
    "{{($x := 1)}}{{$x}}", "{{if $x := 1}}{{else}}{{$x}}{{end}}",
    "{{block `x` $q := 1}}{{end}}{{$q}}",
    "{{range $x, $x}}{{end}}", "{{range $x,$y:=.}}{{$y}}{{end}}",
    # Blocks.
    "{{if(.)}}{{end}}", "{{if.x}}{{end}}", "{{if 1}}{{else if 2}}{{else}}{{end}}",
    "{{with 1}}{{else with 2}}{{end}}", "{{range .}}{{break}}{{else}}{{end}}",
    "{{range .}}{{if 1}}{{ continue -}}{{end}}{{end}}", "{{template `x`.}}", "{{template `x`$}}",
    "{{template `x`}}", "{{if 1}}{{block `x` .}}{{end}}{{end}}",
    # Definitions: the last ones have nothing in them, or stand for another name.
    "{{define `a`}}x{{end}}", "{{define ``}}x{{end}}", "{{define ``}} {{end}}y",
    "{{define `a`}}x{{end}}{{define `a`}} {{/* c */}}{{end}}", '{{define "\\x61b"}}x{{end}}'
    "{{define `a`}}x{{end}}", '{{define "\\xff"}}x{{end}}{{define "\\u00ff"}}x{{end}}',
    "{{define `a`}}\u3000{{end}}{{define `a`}}x{{end}}",
    # Comments.
    "{{/* a */}}", "{{- /* }} */ -}}", "{{/**/}}", "{{/* \n */}}",
    # Names.
    "{{.é}}", "{{$é := 1}}{{$é.ß}}", "{{.٣}}", "{{.名前}}", "{{.\U0001e4d0}}", "{{._}}", "{{.a1}}",
    # Numbers.
    "{{-0}}", "{{017}}", "{{0x_1F}}", "{{0b11}}", "{{0o17}}", "{{1_000}}", "{{1.}}", "{{.5}}",
    "{{08.5}}", "{{1e5}}", "{{0x1p-4}}", "{{1i}}", "{{1e+2i}}", "{{1+2i}}", "{{0x1p5+2i}}",
    "{{18446744073709551615}}", "{{-9223372036854775808}}", "{{1e-999}}", "{{0e999}}",
    # Quoting.
    "{{'\\''}}", "{{'\\xff'}}", '{{"\\ud7ff\\U0010ffff\\377"}}', "{{`\\q`}}",
    '{{"\'`"}}', "{{'é'}}",
)  # fmt: skip

REFUSED: Final = (
    # As they were found to be taken.
    "{{ 1e999 }}", "{{ .x½ }}", "{{ $.x² }}", "{{ .Ⅷ }}", "{{ 0xp11+2i }}", "{{ 0b11+2i }}",
    # Actions, pipelines, operands.
    "{{", "{{}}", "{{ 1 }", "{{-1-}}", "{{- -}}", "{{|1}}", "{{1||2}}", "{{1|2}}", "{{1|.}}",
    "{{1|nil}}", "{{1|`a`}}", "{{()}}", "{{(1}}", "{{1)}}", "{{..a}}", "{{.a.1}}",
    "{{.a.}}", "{{$.}}",
    "{{`a`.x}}", "{{true.x}}", "{{nil.x}}", "{{print`a`}}", "{{print `a``b`}}", "{{print(1)}}",
    "{{1,2}}", "{{1 + 2}}", "{{a}}", "{{a.b}}", "{{print} }", "{{1 end}}", "{{print\x00}}",
    # Variables.
    "{{$x}}", "{{$x=1}}", "{{$x:=}}", "{{$x.y := 1}}", "{{$x, $y := 1}}", "{{$x := $y := 1}}",
    "{{range $x,}}{{end}}", "{{range $x, 1}}{{end}}", "{{range $x,$y,$z:=.}}{{end}}",
    "{{range ($x, $y := 1)}}{{end}}", "{{if $x := 1}}{{end}}{{$x}}", "{{$x.1}}",
    "{{$a := 1}}{{define `x`}}{{$a}}{{end}}", "{{block `x` $q := 1}}{{$q}}{{end}}",
    # Blocks.
    "{{end}}", "{{else}}", "{{if 1}}", "{{if}}{{end}}", "{{if 1}}{{else}}{{else}}{{end}}",
    "{{range .}}{{else if 1}}{{end}}", "{{with 1}}{{else if 2}}{{end}}", "{{break}}",
    "{{if 1}}{{else with 2}}{{end}}", "{{range .}}{{else}}{{break}}{{end}}", "{{end 1}}",
    "{{range .}}{{block `x` .}}{{break}}{{end}}{{end}}", "{{define `a`}}{{else}}{{end}}",
    "{{if 1}}{{define `x`}}{{end}}{{end}}", "{{template a}}", "{{template}}",
    "{{block `x`}}{{end}}",
    "{{template`x`}}", "{{define `x` .}}{{end}}", '{{define "\\q"}}{{end}}',
    # Definitions.
    "{{define ``}}x{{end}}y", "{{define `a`}}x{{end}}{{define `a`}}y{{end}}",
    "{{block `a` .}}x{{end}}{{define `a`}}{{.}}{{end}}",
    '{{define "\\xc3\\xa9"}}x{{end}}{{define "é"}}x{{end}}',
    "{{define `a`}}\x1c{{end}}{{define `a`}}x{{end}}",
    "{{define `a\r`}}x{{end}}{{define `a`}}x{{end}}",
    # Comments.
    "{{ /* a */}}", "{{/* a */ }}", "{{/* a", "{{/*/}}", "{{-/* a */}}", "{{/* a */1}}",
    # Names.
    "{{.a\u0301}}", "{{.a‿b}}", "{{.\u2160}}", "{{.\U0002ebf0}}", "{{.\U00016d40}}", "{{.x\xa0}}",
    # Numbers.
    "{{08}}", "{{1__0}}", "{{1_}}", "{{0x}}", "{{0b2}}", "{{0b1.5}}", "{{0x1.5}}",
    "{{1e}}", "{{1e_1}}",
    "{{+i}}", "{{0x1+2i}}", "{{1+2}}", "{{1i+2i}}", "{{18446744073709551616}}", "{{1a}}",
    "{{+9223372036854775808}}", "{{1e999i}}", "{{1+1e999i}}", "{{0x1p1024}}", "{{1.2.3}}",
    f"{{{{0x1{'0' * 5_000}p-1000000}}}}",
    # Quoting.
    "{{''}}", "{{'ab'}}", "{{'\\\"'}}", '{{"\\\'"}}', '{{"\\ud800"}}', '{{"\\U0000d800"}}',
    '{{"\\U00110000"}}', '{{"\\400"}}', '{{"\\x4"}}', '{{"\n"}}', '{{"\\', "{{`a}}", '{{"\\q"}}',
)  # fmt: skip
