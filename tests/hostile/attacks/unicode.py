"""Characters that readers treat in ways of their own: controls, halves, marks, look-alikes."""

from typing import Final

from stoker.validate.findings import Reason
from tests.hostile.payload import INVALID, Attack, LeftOut

ATTACK: Final = Attack("unicode")

CHARACTERS: Final = (
    "\x00",
    "a\x00b",
    "\x01\x02",
    "\x07\x08",
    "\x1b[31mred\x1b[0m",
    "\x7f",
    "\x80\x9f",
    "\x85next line",
    "\xa0",
    "\u2028line\u2029paragraph",
    "\ufeffmark",
    "a\ufeffb",
    "\ufffe",
    "\uffff",
    "\ufffd",
    "\u200bzero\u200dwidth",
    "\u202egnp.exe",
    "\u2066isolate",
    "日本語",
    "😀",
    "\U0010ffff",
    "\U000e0001tag",
    "e\u0301",
    "Ａ full width",
    "ﬀ",
    "ß ẞ ſ K",
    "\r",
    "a\r\nb",
    "\v\f",
    "\x1c\x1d\x1e",
)
"""Each is valid UTF-8, so that an API server takes it."""

ATTACK.at("ServiceMonitor", "spec.endpoints[0].path", *CHARACTERS)
ATTACK.at("PrometheusRule", "spec.groups[0].rules[0].annotations[summary]", *CHARACTERS)
for _text in CHARACTERS:
    ATTACK.whole(
        "AlertmanagerConfig",
        f"receiver {_text!a}",
        {
            "route": {"receiver": _text},
            "receivers": [{"name": _text, "webhookConfigs": [{"url": "http://hooks.example"}]}],
        },
    )

# Names of labels: any UTF-8 since Prometheus 3, letters and digits before.
for _text in ("é", "a b", "日本", "a.b", "\x00", "\u202e", "{}"):
    ATTACK.at("PrometheusRule", "spec.groups[0].rules[0].labels", {_text: "x"})
    ATTACK.at(
        "PrometheusRule",
        "spec.groups[0].rules[0].labels",
        {_text: "x"},
        then=INVALID,
        workload="old",
        about=f"labels {_text!a} for an old Prometheus",
    )
    ATTACK.at("ScrapeConfig", "spec.staticConfigs[0].labels", {_text: "x"})
    ATTACK.at(
        "ScrapeConfig",
        "spec.staticConfigs[0].labels",
        {_text: "x"},
        then=LeftOut(path=f"spec.staticConfigs[0].labels[{_text}]"),
        workload="old",
        about=f"static labels {_text!a} for an old Prometheus",
    )
for _text in ("é", "a.b", "日本"):
    ATTACK.at(
        "ServiceMonitor",
        "spec.endpoints[0].relabelings[0].targetLabel",
        _text,
        then=LeftOut(Reason.INVALID_RELABELING, webhook=False),
        workload="legacy",
    )
    ATTACK.at("PrometheusRule", "spec.groups[0].rules[0].record", _text, beside={"alert": None})
