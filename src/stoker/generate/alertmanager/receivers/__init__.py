"""The integrations of Alertmanager, a table each, in the order of the file.

http        what most of them share: the HTTP client, TLS, AWS signatures
chat        Slack, Discord, Teams, Rocket.Chat, Telegram, Webex, WeChat
paging      PagerDuty, Opsgenie, VictorOps, Pushover
delivery    email, webhooks, Amazon SNS
own         Jira, incident.io, Mattermost: only a user's own file has them
"""

from typing import Any, Final

from stoker.errors import FieldError
from stoker.generate.alertmanager.checks import all_of
from stoker.generate.alertmanager.receivers import chat, delivery, own, paging
from stoker.generate.alertmanager.table import MAPPING, TEXT, many
from stoker.generate.block import Block
from stoker.generate.grammar import Member, Section, each_by
from stoker.validate.alertmanager.receivers import SINCE
from stoker.version import Version

_SINCE: Final = {name: since for name, since in SINCE.items() if name != "sns_configs"} | {
    "jira_configs": "0.28.0",
    "incidentio_configs": "0.29.0",
    "mattermost_configs": "0.30.0",
}


def _integration(name: str, section: Section, field: str | None = None) -> Member:
    """A list of integrations; an Alertmanager that does not know them refuses the whole file."""
    write = each_by(section) if field else None
    since = _SINCE.get(f"{name}_configs", "")
    return Member(f"{name}_configs", field, many(section), write, since=since, refused=bool(since))


def _own_name(block: Block, _version: Version, path: str) -> None:
    labels: dict[str, Any] = block.get("labels") or {}
    if labels.get("name", block.get("name")) != block.get("name"):
        raise FieldError(f"{path}.labels[name]", "must be the name of the receiver")


RECEIVER: Final = Section(
    (
        Member("name", None, TEXT, default=""),
        Member("labels", None, MAPPING, since="0.33.0"),
        _integration("opsgenie", paging.OPSGENIE, "opsgenie_configs"),
        _integration("pagerduty", paging.PAGERDUTY, "pagerduty_configs"),
        _integration("slack", chat.SLACK, "slack_configs"),
        _integration("webhook", delivery.WEBHOOK, "webhook_configs"),
        _integration("wechat", chat.WECHAT, "wechat_configs"),
        _integration("email", delivery.EMAIL, "email_configs"),
        _integration("pushover", paging.PUSHOVER, "pushover_configs"),
        _integration("victorops", paging.VICTOROPS, "victorops_configs"),
        # 0.22 does not know it either, but the peer hands it on; whoever selects refuses it before.
        _integration("sns", delivery.SNS, "sns_configs"),
        _integration("telegram", chat.TELEGRAM, "telegram_configs"),
        _integration("discord", chat.DISCORD, "discord_configs"),
        _integration("webex", chat.WEBEX, "webex_configs"),
        _integration("msteams", chat.TEAMS, "msteams_configs"),
        _integration("msteamsv2", chat.TEAMS_WORKFLOW, "msteamsv2_configs"),
        _integration("jira", own.JIRA),
        _integration("rocketchat", chat.ROCKETCHAT, "rocketchat_configs"),
        _integration("incidentio", own.INCIDENTIO),
        _integration("mattermost", own.MATTERMOST),
    ),
    needs=(all_of("name"), _own_name),
)
