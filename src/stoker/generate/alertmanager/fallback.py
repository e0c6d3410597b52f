"""What a receiver takes from the `global` section where it says nothing itself.

Alertmanager refuses a whole file if one receiver has neither. Whose receiver it is can therefore
only be said where both are known: here.
"""

from collections.abc import Iterator
from typing import Final

from stoker.generate.block import Block
from stoker.validate.alertmanager.integrations import SLACK_BOT_URL

# By list of integrations: what one of them needs, from where it may come instead.
_NEEDS: Final = {
    "email_configs": (
        (("smarthost",), ("smtp_smarthost",)),
        (("from",), ("smtp_from",)),
    ),
    "slack_configs": (
        (
            ("api_url", "api_url_file", "app_token", "app_token_file"),
            ("slack_api_url", "slack_api_url_file", "slack_app_token", "slack_app_token_file"),
        ),
    ),
    "opsgenie_configs": (
        (("api_key", "api_key_file"), ("opsgenie_api_key", "opsgenie_api_key_file")),
    ),
    "wechat_configs": (
        (("api_secret", "api_secret_file"), ("wechat_api_secret", "wechat_api_secret_file")),
        (("corp_id",), ("wechat_api_corp_id",)),
    ),
    "victorops_configs": (
        (("api_key", "api_key_file"), ("victorops_api_key", "victorops_api_key_file")),
    ),
    "telegram_configs": (
        (("bot_token", "bot_token_file"), ("telegram_bot_token", "telegram_bot_token_file")),
    ),
    "jira_configs": ((("api_url",), ("jira_api_url",)),),
    "rocketchat_configs": (
        (("token", "token_file"), ("rocketchat_token", "rocketchat_token_file")),
        (("token_id", "token_id_file"), ("rocketchat_token_id", "rocketchat_token_id_file")),
    ),
    "mattermost_configs": (
        (
            ("webhook_url", "webhook_url_file"),
            ("mattermost_webhook_url", "mattermost_webhook_url_file"),
        ),
    ),
}


def receiver_problem(receiver: Block, common: Block) -> tuple[str, str]:
    """Where a receiver lacks what `global` does not have either, and what; empty if nowhere."""
    return next(_problems(receiver, common), ("", ""))


def _problems(receiver: Block, common: Block) -> Iterator[tuple[str, str]]:
    for name, needs in _NEEDS.items():
        for index, integration in enumerate(receiver.get(name) or ()):
            for own, instead in needs:
                given = any(integration.get(key) for key in own)
                if not given and not any(common.get(key) for key in instead):
                    missing = f"needs `{own[0]}`: there is no global `{instead[0]}`"
                    yield f"{name}[{index}]", missing


def with_bot_url(receiver: Block, common: Block) -> Block:
    """The receiver, in which a Slack bot that updates messages names its URL itself.

    Alertmanager crashes where it must look that one up in `global`.
    """
    if common.get("slack_api_url") == SLACK_BOT_URL:
        for integration in receiver.get("slack_configs") or ():
            if integration.get("update_message"):
                integration.setdefault("api_url", SLACK_BOT_URL)
    return receiver
