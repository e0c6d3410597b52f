"""Integrations that post to a chat: Slack, Discord, Teams, Rocket.Chat, Telegram, Webex, WeChat."""

from typing import Annotated

from stoker.api.amconfig.receivers import Notification, QuietResolve
from stoker.api.common import Duration, Text, WebUrl
from stoker.api.core import Int64, SecretKeySelector
from stoker.api.declare import NO_NUMBER, NO_TEXT, Model, doc, names

SLACK_API_URL = doc(
    "Key of a Secret in the same namespace that holds the webhook URL, or "
    "`https://slack.com/api/chat.postMessage` for a bot, whose token goes in `httpConfig`. Unset: "
    "the global `slack_api_url`."
)
ROCKETCHAT_FIELDS = doc("Table to show in the message.", minItems=1)
ROCKETCHAT_ACTIONS = doc("Buttons to show below the message.", minItems=1)
TELEGRAM_BOT_TOKEN = doc(
    "Key of a Secret in the same namespace that holds the bot's token. This or `botTokenFile` is "
    "needed; set only one."
)
WECHAT_API_SECRET = doc(
    "Key of a Secret in the same namespace that holds the API secret. Unset: the global "
    "`wechat_api_secret`."
)


class Attachment(
    Notification,
    rename=names(
        api_url="apiURL",
        icon_url="iconURL",
        image_url="imageURL",
        thumb_url="thumbURL",
        token_id="tokenID",
    ),
):
    """What Slack and Rocket.Chat, which copied Slack's message format, have in common."""

    send_resolved: QuietResolve = None
    image_url: Annotated[str | None, doc("Image to show in the message; a template.")] = None
    thumb_url: Annotated[str | None, doc("Small image to show beside the message; a template.")] = (
        None
    )
    link_names: Annotated[
        bool | None, doc("Turn `@name` and `#channel` in the text into links. Unset: no.")
    ] = None
    short_fields: Annotated[
        bool | None, doc("Show fields side by side unless they say otherwise. Unset: no.")
    ] = None


class SlackConfirmation(Model):
    """A question that Slack asks before it carries out an action."""

    text: Annotated[Text, doc("The question; a template.")] = NO_TEXT
    title: Annotated[Text | None, doc("Title of the dialog; a template.")] = None
    ok_text: Annotated[Text | None, doc("Label of the button that agrees; a template.")] = None
    dismiss_text: Annotated[Text | None, doc("Label of the button that cancels; a template.")] = (
        None
    )


class SlackAction(Model):
    """A button or menu below a Slack message. Needs `url`, or `name` with `value`."""

    type: Annotated[Text, doc("Slack's type of action, such as `button`; a template.")] = NO_TEXT
    text: Annotated[Text, doc("Label; a template.")] = NO_TEXT
    url: Annotated[str | None, doc("Page that the button opens; a template.")] = None
    name: Annotated[
        Text | None, doc("Name to send to the Slack app behind the action; a template.")
    ] = None
    value: Annotated[Text | None, doc("Value to send together with `name`; a template.")] = None
    style: Annotated[
        Text | None, doc("Look of the button: `primary` or `danger`; a template. Unset: plain.")
    ] = None
    confirm: Annotated[SlackConfirmation | None, doc("Question to ask before acting.")] = None


class SlackField(Model):
    """A row of the table in a Slack message."""

    title: Annotated[Text, doc("Heading; a template.")] = NO_TEXT
    value: Annotated[Text, doc("Value; a template.")] = NO_TEXT
    short: Annotated[
        bool | None, doc("Fits beside another field. Unset: as `shortFields` says.")
    ] = None


class Slack(Attachment):
    """Slack, less the API URL."""

    channel: Annotated[
        Text | None, doc("Channel or user to post to, as `#alerts`; a template.")
    ] = None
    message_text: Annotated[
        Text | None,
        doc(
            "Text of the message itself, above the attachment; a template. Needs Alertmanager "
            "0.31 or newer."
        ),
    ] = None
    title: Annotated[
        Text | None, doc("Title of the attachment; a template. Unset: `slack.default.title`.")
    ] = None
    title_link: Annotated[
        str | None,
        doc("Page that the title links to; a template. Unset: `slack.default.titlelink`."),
    ] = None
    pretext: Annotated[
        Text | None, doc("Text above the attachment; a template. Unset: `slack.default.pretext`.")
    ] = None
    text: Annotated[
        Text | None, doc("Text of the attachment; a template. Unset: `slack.default.text`.")
    ] = None
    fallback: Annotated[
        Text | None,
        doc(
            "Summary for clients that cannot show attachments; a template. Unset: "
            "`slack.default.fallback`."
        ),
    ] = None
    footer: Annotated[
        Text | None, doc("Text below the attachment; a template. Unset: `slack.default.footer`.")
    ] = None
    color: Annotated[
        Text | None,
        doc(
            "`good`, `warning`, `danger` or a `#rrggbb`; a template. Unset: `danger` while "
            "firing, else `good`."
        ),
    ] = None
    fields: Annotated[
        tuple[SlackField, ...] | None,
        doc("Table to show in the attachment.", minItems=1, listType="atomic"),
    ] = None
    actions: Annotated[
        tuple[SlackAction, ...] | None,
        doc("Buttons and menus to show below the attachment.", minItems=1, listType="atomic"),
    ] = None
    callback_id: Annotated[
        Text | None,
        doc(
            "Id that the Slack app behind the actions gets; a template. Unset: "
            "`slack.default.callbackid`."
        ),
    ] = None
    mrkdwn_in: Annotated[
        tuple[Text, ...] | None,
        doc(
            "Parts in which Slack reads its markup. Unset: `fallback`, `pretext` and `text`.",
            minItems=1,
            listType="atomic",
        ),
    ] = None
    username: Annotated[
        Text | None, doc("Name to post under; a template. Unset: `slack.default.username`.")
    ] = None
    icon_emoji: Annotated[
        Text | None,
        doc("Emoji to post under, as `:fire:`; a template. Unset: `slack.default.iconemoji`."),
    ] = None
    icon_url: Annotated[
        str | None, doc("Image to post under; a template. Unset: `slack.default.iconurl`.")
    ] = None
    update_message: Annotated[
        bool | None,
        doc(
            "Edit the group's message instead of posting another. Unset: no. Only for bots "
            "(`chat.postMessage`). Needs Alertmanager 0.32 or newer."
        ),
    ] = None
    timeout: Annotated[
        Duration | None,
        doc(
            "How long to wait for Slack's answer before trying again, as `10s`. Needs "
            "Alertmanager 0.30 or newer."
        ),
    ] = None


class RocketChatField(Model):
    """A row of the table in a Rocket.Chat message."""

    title: Annotated[Text | None, doc("Heading; a template.")] = None
    value: Annotated[Text | None, doc("Value; a template.")] = None
    short: Annotated[
        bool | None, doc("Fits beside another field. Unset: as `shortFields` says.")
    ] = None


class RocketChatAction(Model):
    """A button below a Rocket.Chat message."""

    text: Annotated[Text | None, doc("Label; a template.")] = None
    url: Annotated[str | None, doc("Page that the button opens; a template.")] = None
    msg: Annotated[Text | None, doc("Message that the button posts; a template.")] = None


class RocketChat(Attachment):
    """Rocket.Chat, less the HTTP client."""

    token_id: Annotated[
        SecretKeySelector,
        doc("Key of a Secret in the same namespace that holds the sender's user id."),
    ] = SecretKeySelector()
    token: Annotated[
        SecretKeySelector,
        doc("Key of a Secret in the same namespace that holds the sender's personal access token."),
    ] = SecretKeySelector()
    api_url: Annotated[
        WebUrl | None, doc("Rocket.Chat server. Unset: the global `rocketchat_api_url`.")
    ] = None
    channel: Annotated[
        Text | None, doc("Channel or user to post to, as `#alerts` or `@ann`; a template.")
    ] = None
    title: Annotated[Text | None, doc("Title; a template. Unset: `rocketchat.default.title`.")] = (
        None
    )
    title_link: Annotated[
        Text | None,
        doc("Page that the title links to; a template. Unset: `rocketchat.default.titlelink`."),
    ] = None
    text: Annotated[Text | None, doc("Text; a template. Unset: `rocketchat.default.text`.")] = None
    color: Annotated[
        Text | None,
        doc("Colour of the bar; a template. Unset: `red` while firing, else `green`."),
    ] = None
    fields: Annotated[tuple[RocketChatField, ...] | None, ROCKETCHAT_FIELDS] = None
    actions: Annotated[tuple[RocketChatAction, ...] | None, ROCKETCHAT_ACTIONS] = None
    emoji: Annotated[
        Text | None,
        doc("Emoji to post under, as `:fire:`; a template. Unset: `rocketchat.default.emoji`."),
    ] = None
    icon_url: Annotated[
        str | None, doc("Image to post under; a template. Unset: `rocketchat.default.iconurl`.")
    ] = None


class Discord(Notification, rename=names(api_url="apiURL", avatar_url="avatarURL")):
    """Discord, less the HTTP client."""

    api_url: Annotated[
        SecretKeySelector,
        doc("Key of a Secret in the same namespace that holds the webhook URL of the channel."),
    ] = SecretKeySelector()
    content: Annotated[
        Text | None,
        doc(
            "Text above the embedded message, where mentions work; a template. Unset: "
            "`discord.default.content`. Needs Alertmanager 0.28 or newer."
        ),
    ] = None
    title: Annotated[str | None, doc("Title; a template. Unset: `discord.default.title`.")] = None
    message: Annotated[str | None, doc("Text; a template. Unset: `discord.default.message`.")] = (
        None
    )
    username: Annotated[
        Text | None,
        doc("Name to post under. Unset: the webhook's own. Needs Alertmanager 0.28 or newer."),
    ] = None
    avatar_url: Annotated[
        WebUrl | None,
        doc("Image to post under. Unset: the webhook's own. Needs Alertmanager 0.28 or newer."),
    ] = None


class Teams(Notification):
    """Microsoft Teams through a connector, less the HTTP client."""

    webhook_url: Annotated[
        SecretKeySelector,
        doc("Key of a Secret in the same namespace that holds the URL of the incoming webhook."),
    ] = SecretKeySelector()
    title: Annotated[str | None, doc("Title; a template. Unset: `msteams.default.title`.")] = None
    summary: Annotated[
        str | None,
        doc(
            "Text for notifications of the client; a template. Unset: `msteams.default.summary`. "
            "Needs Alertmanager 0.27 or newer."
        ),
    ] = None
    text: Annotated[str | None, doc("Text; a template. Unset: `msteams.default.text`.")] = None


class TeamsWorkflow(Notification, rename=names(webhook_url="webhookURL")):
    """Microsoft Teams through a workflow, less the HTTP client."""

    webhook_url: Annotated[
        SecretKeySelector | None,
        doc("Key of a Secret in the same namespace that holds the URL of the workflow. Needed."),
    ] = None
    title: Annotated[Text | None, doc("Title; a template. Unset: `msteamsv2.default.title`.")] = (
        None
    )
    text: Annotated[Text | None, doc("Text; a template. Unset: `msteamsv2.default.text`.")] = None


class Telegram(
    Notification,
    rename=names(api_url="apiURL", chat_id="chatID", message_thread_id="messageThreadID"),
):
    """Telegram, less the bot's token."""

    chat_id: Annotated[Int64, doc("Chat to post to. Groups and channels have negative ids.")] = (
        NO_NUMBER
    )
    message_thread_id: Annotated[
        Int64 | None,
        doc("Topic of the group to post in. Needs Alertmanager 0.26 or newer."),
    ] = None
    message: Annotated[str | None, doc("Text; a template. Unset: `telegram.default.message`.")] = (
        None
    )
    parse_mode: Annotated[
        str | None,
        doc(
            "Markup that Telegram reads in the text. Unset: `HTML` (before Alertmanager 0.25: "
            "`MarkdownV2`).",
            enum=("MarkdownV2", "Markdown", "HTML"),
        ),
    ] = None
    disable_notifications: Annotated[
        bool | None, doc("Post without a sound on the readers' devices. Unset: no.")
    ] = None
    bot_token_file: Annotated[
        str | None,
        doc(
            "Path in Alertmanager's container to a file with the bot's token. Excludes "
            "`botToken`. Needs Alertmanager 0.26 or newer."
        ),
    ] = None
    api_url: Annotated[
        WebUrl | None, doc("Telegram API to call. Unset: the global `telegram_api_url`.")
    ] = None


class Webex(Notification, rename=names(api_url="apiURL", room_id="roomID")):
    """Webex, less the HTTP client."""

    room_id: Annotated[Text, doc("Room to post to, by id; a template.")] = NO_TEXT
    message: Annotated[str | None, doc("Text; a template. Unset: `webex.default.message`.")] = None
    api_url: Annotated[
        WebUrl | None, doc("Webex API to call. Unset: the global `webex_api_url`.")
    ] = None


class WeChat(Notification, rename=names(agent_id="agentID", api_url="apiURL", corp_id="corpID")):
    """WeChat, less the API secret."""

    send_resolved: QuietResolve = None
    corp_id: Annotated[
        Text | None, doc("Company to authenticate as. Unset: the global `wechat_api_corp_id`.")
    ] = None
    agent_id: Annotated[
        Text | None, doc("App to send as; a template. Unset: `wechat.default.agent_id`.")
    ] = None
    to_user: Annotated[
        Text | None, doc("Users to send to, with `|`; a template. Unset: `wechat.default.to_user`.")
    ] = None
    to_party: Annotated[
        Text | None,
        doc("Departments to send to, with `|`; a template. Unset: `wechat.default.to_party`."),
    ] = None
    to_tag: Annotated[
        Text | None,
        doc("Tags whose users to send to, with `|`; a template. Unset: `wechat.default.to_tag`."),
    ] = None
    message: Annotated[Text | None, doc("Text; a template. Unset: `wechat.default.message`.")] = (
        None
    )
    message_type: Annotated[Text | None, doc("`text` or `markdown`. Unset: `text`.")] = None
    api_url: Annotated[
        WebUrl | None, doc("WeChat API to call. Unset: the global `wechat_api_url`.")
    ] = None
