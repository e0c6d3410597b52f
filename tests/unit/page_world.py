"""A directory whose Secrets hold one word in every place where a Secret can be referred to."""

import base64
import json
from pathlib import Path
from typing import Any

WORD = "canary-7f3a"
"""It must never be seen."""
ENCODED = base64.b64encode(WORD.encode()).decode()[:12]

Object = dict[str, Any]


def secret(name: str, namespace: str = "shop", **data: str) -> Object:
    """A Secret; all of its keys hold the word unless something else is said."""
    plain = dict.fromkeys(("user", "password", "token", "id", "key", "text"), WORD)
    values = plain | {"url": f"https://{WORD}.example/hook"} | data
    return made("v1", "Secret", name, namespace, stringData=values)


def made(version: str, kind: str, name: str, namespace: str, **rest: Any) -> Object:
    """An object."""
    metadata = {"name": name, "namespace": namespace, "labels": {"team": namespace}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def at(key: str, name: str = "all") -> Object:
    """A reference to a key."""
    return {"name": name, "key": key}


BASIC = {"basicAuth": {"username": at("user"), "password": at("password")}}
BEARER = {"authorization": {"credentials": at("token")}}
OAUTH2 = {
    "oauth2": {
        "clientId": {"secret": at("id")},
        "clientSecret": at("password"),
        "tokenUrl": "https://login.example/",
        "proxyUrl": "http://proxy.example",
        "proxyConnectHeader": {"X-Token": [at("token")]},
    }
}
TLS = {"tlsConfig": {"cert": {"secret": at("text")}, "keySecret": at("key")}}
PROXY = {"proxyUrl": "http://proxy.example", "proxyConnectHeader": {"X-Token": [at("token")]}}
HTTP: dict[str, Object] = {
    "basic": BASIC, "bearer": BEARER, "oauth2": OAUTH2, "tls": TLS, "proxy": PROXY
}  # fmt: skip
GROUP = "monitoring.coreos.com/v1"
ALPHA = "monitoring.coreos.com/v1alpha1"


def monitors() -> list[Object]:
    """Resources that refer to Secrets in every way that scraping knows."""
    found = []
    for name, auth in HTTP.items():
        selector = {"selector": {"matchLabels": {"app": name}}}
        spec = {**selector, "endpoints": [{"port": "web", **auth}]}
        found.append(made(GROUP, "ServiceMonitor", name, "shop", spec=spec))
        pods = {**selector, "podMetricsEndpoints": [{"port": "web", **auth}]}
        found.append(made(GROUP, "PodMonitor", name, "shop", spec=pods))
        targets = {"staticConfig": {"static": ["a.example"]}}
        probe = {"prober": {"url": "prober.example"}, "targets": targets, **auth}
        found.append(made(GROUP, "Probe", name, "shop", spec=probe))
        scraped = {
            "staticConfigs": [{"targets": ["a.example"]}],
            "httpSDConfigs": [{"url": "http://sd.example/", **auth}],
            "consulSDConfigs": [{"server": "consul.example", "tokenRef": at("token")}],
            "ec2SDConfigs": [{"accessKey": at("id"), "secretKey": at("password")}],
            **auth,
        }
        found.append(made(ALPHA, "ScrapeConfig", name, "shop", spec=scraped))
    return found


def workloads() -> list[Object]:
    """Workloads that refer to Secrets themselves; some of them in ways that cannot work."""
    everything = {"matchLabels": {"team": "shop"}}
    kinds = ("serviceMonitor", "podMonitor", "probe", "scrapeConfig", "rule")
    chosen = {f"{kind}Selector": everything for kind in kinds}
    writes = [
        {"url": "http://remote.example/", "name": name, **auth} for name, auth in HTTP.items()
    ]
    sigv4 = {"sigv4": {"accessKey": at("id"), "secretKey": at("password"), "region": "eu"}}
    writes.append({"url": "http://aws.example/", "name": "aws", **sigv4})
    spec = {**chosen, "remoteWrite": writes[:2] + writes[4:]}
    agent = {key: value for key, value in spec.items() if key != "ruleSelector"}
    reads = [{"url": "http://remote.example/", **BASIC}]
    alerting = {"alertmanagers": [{"name": "am", "port": "web", "namespace": "shop", **BASIC}]}
    extra = {
        "additionalScrapeConfigs": at("jobs", "own"),
        "additionalAlertRelabelConfigs": at("relabel", "own"),
        "additionalAlertManagerConfigs": at("alertmanagers", "own"),
    }
    whole = {**spec, **extra, "remoteRead": reads, "alerting": alerting}
    return [
        made(GROUP, "Prometheus", "main", "shop", spec=whole),
        made(GROUP, "Prometheus", "tls", "shop", spec={**chosen, "remoteWrite": writes}),
        made(
            GROUP,
            "Prometheus",
            "broken",
            "shop",
            spec={**chosen, "additionalScrapeConfigs": at("text")},
        ),
        made(ALPHA, "PrometheusAgent", "agent", "shop", spec=agent),
        made(
            GROUP,
            "ThanosRuler",
            "ruler",
            "shop",
            spec={"ruleSelector": everything, "remoteWrite": spec["remoteWrite"]},
        ),
        made(
            GROUP,
            "ThanosRuler",
            "tls",
            "shop",
            spec={"ruleSelector": everything, "remoteWrite": writes},
        ),
        *alertmanagers(everything),
    ]


def alertmanagers(everything: Object) -> list[Object]:
    """Alertmanagers with each kind of base."""
    selector = {"alertmanagerConfigSelector": everything}
    smtp = {"authPassword": at("password"), "smartHost": {"host": "mail.example", "port": "25"}}
    common = {
        "slackApiUrl": at("url"),
        "opsGenieApiKey": at("token"),
        "httpConfig": {"authorization": {"credentials": at("token")}},
        "smtp": smtp,
    }
    start = {"alertmanagerConfiguration": {"name": "slack", "global": common}}
    return [
        made(GROUP, "Alertmanager", "selecting", "shop", spec={**selector, "configSecret": "own"}),
        made(GROUP, "Alertmanager", "verbatim", "shop", spec={"configSecret": "own"}),
        made(GROUP, "Alertmanager", "plain", "shop", spec=selector),
        made(GROUP, "Alertmanager", "broken", "shop", spec={**selector, "configSecret": "bad"}),
        made(GROUP, "Alertmanager", "global", "shop", spec={**selector, **start}),
    ]


RECEIVERS: dict[str, Object] = {
    "slack": {"slackConfigs": [{"apiURL": at("url"), "channel": "#a"}]},
    "slack-bad": {"slackConfigs": [{"apiURL": at("text"), "channel": "#a"}]},
    "pagerduty": {"pagerdutyConfigs": [{"routingKey": at("token")}]},
    "opsgenie": {"opsgenieConfigs": [{"apiKey": at("token")}]},
    "webhook": {"webhookConfigs": [{"urlSecret": at("url"), "httpConfig": BASIC}]},
    "email": {
        "emailConfigs": [
            {
                "to": "a@b.example",
                "from": "c@d.example",
                "smarthost": "mail.example:25",
                "authPassword": at("password"),
                "authSecret": at("token"),
            }
        ]
    },
    "telegram": {"telegramConfigs": [{"botToken": at("token"), "chatID": 1}]},
    "pushover": {"pushoverConfigs": [{"userKey": at("user"), "token": at("token")}]},
    "victorops": {"victoropsConfigs": [{"apiKey": at("token"), "routingKey": "r"}]},
    "wechat": {"wechatConfigs": [{"apiSecret": at("token"), "corpID": "c"}]},
    "sns": {
        "snsConfigs": [
            {
                "topicARN": "arn:aws:sns:us-east-2:698519295917:x",
                "sigv4": {"accessKey": at("id"), "secretKey": at("password"), "region": "eu"},
            }
        ]
    },
    "discord": {"discordConfigs": [{"apiURL": at("url")}]},
    "msteams": {"msteamsConfigs": [{"webhookUrl": at("url")}]},
    "webex": {
        "webexConfigs": [
            {"roomID": "r", "httpConfig": {"authorization": {"credentials": at("token")}}}
        ]
    },
}


def alerting() -> list[Object]:
    """AlertmanagerConfigs that refer to Secrets in every way, and a rule."""
    found = []
    for name, receiver in RECEIVERS.items():
        spec = {"route": {"receiver": "r"}, "receivers": [{"name": "r", **receiver}]}
        found.append(made(ALPHA, "AlertmanagerConfig", name, "shop", spec=spec))
    rules = [{"record": "a:b", "expr": "sum(up)"}]
    groups = {"groups": [{"name": "g", "rules": rules}]}
    return [*found, made(GROUP, "PrometheusRule", "rules", "shop", spec=groups)]


def secrets() -> list[Object]:
    """The Secrets."""
    jobs = f"- job_name: own\n  basic_auth: {{password: {WORD}}}\n"
    file = f"route: {{receiver: r}}\nreceivers: [{{name: r, webhook_configs: [{{url: 'https://{WORD}.example'}}]}}]\n"
    return [
        secret("all"),
        secret(
            "own",
            jobs=jobs,
            relabel=f"- target_label: x\n  replacement: {WORD}\n",
            alertmanagers=f"- static_configs: [{{targets: [{WORD}.example]}}]\n",
            **{"alertmanager.yaml": file},
        ),
        secret("bad", **{"alertmanager.yaml": f"{WORD}: *{WORD}"}),
        made("v1", "Secret", "undecodable", "shop", data={"text": f"%{WORD}%"}),
    ]


BROKEN = f"""\
kind: Secret
apiVersion: v1
metadata: {{name: half-written, namespace: shop}}
stringData: {{password: *{WORD}}}
"""


def write(folder: Path) -> None:
    """Write all of it into a folder."""
    for name, objects in {
        "secrets": secrets(),
        "monitors": monitors(),
        "workloads": workloads(),
        "alerting": alerting(),
    }.items():
        text = "---\n".join(json.dumps(each) + "\n" for each in objects)
        (folder / f"{name}.yaml").write_text(text)
    (folder / "broken.yaml").write_text(BROKEN)
