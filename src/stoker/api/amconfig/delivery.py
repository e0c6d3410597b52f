"""Integrations that deliver to an address: email, webhooks, Amazon SNS."""

from typing import Annotated

from stoker.api.amconfig.receivers import KeyValue, Notification, QuietResolve
from stoker.api.common import Duration, SafeTlsConfig, Sigv4, Text
from stoker.api.core import Int32
from stoker.api.declare import NO_TEXT, Model, doc, names

EMAIL_AUTH_PASSWORD = doc(
    "Key of a Secret in the same namespace that holds the password, for LOGIN and PLAIN. Unset: "
    "the global `smtp_auth_password`."
)
EMAIL_AUTH_SECRET = doc(
    "Key of a Secret in the same namespace that holds the shared secret, for CRAM-MD5. Unset: the "
    "global `smtp_auth_secret`."
)
EMAIL_HEADERS = doc(
    "Headers to add or replace, such as `Subject`; values are templates. Each name may be given "
    "once, in any capitals."
)
WEBHOOK_URL_SECRET = doc(
    "Key of a Secret in the same namespace that holds the URL, for URLs with a token inside. Goes "
    "before `url`; one of the two is needed."
)


class EmailThreading(Model):
    """Puts the emails about a group of alerts in one thread of the reader's mailbox."""

    thread_by_date: Annotated[
        str,
        doc(
            "`Daily` starts a new thread every day for a group, `None` keeps a single one.",
            enum=("Daily", "None"),
        ),
    ] = NO_TEXT


class Email(
    Notification, rename=names(force_implicit_tls="forceImplicitTLS", require_tls="requireTLS")
):
    """Email, less the fields that refer to Secrets."""

    send_resolved: QuietResolve = None
    to: Annotated[
        Text | None,
        doc("Where to send to: one address or several with commas; a template. Needed."),
    ] = None
    from_: Annotated[
        Text | None, doc("Address of the sender; a template. Unset: the global `smtp_from`.")
    ] = None
    headers: Annotated[tuple[KeyValue, ...] | None, EMAIL_HEADERS] = None
    html: Annotated[
        str | None,
        doc("HTML body; a template. Unset: `email.default.html`. Empty: only `text` is sent."),
    ] = None
    text: Annotated[Text | None, doc("Plain text body; a template. Unset: none.")] = None
    threading: Annotated[
        EmailThreading | None,
        doc(
            "Thread the emails about the same group. Unset: no threads. Needs Alertmanager 0.30 "
            "or newer."
        ),
    ] = None
    smarthost: Annotated[
        Text | None,
        doc("SMTP server as `host:port`, port included. Unset: the global `smtp_smarthost`."),
    ] = None
    hello: Annotated[
        Text | None, doc("Host name to greet the server with. Unset: the global `smtp_hello`.")
    ] = None
    auth_username: Annotated[
        Text | None,
        doc("User to log in as. Unset: the global `smtp_auth_username`; without it, no login."),
    ] = None
    auth_identity: Annotated[
        Text | None, doc("Identity for PLAIN. Unset: the global `smtp_auth_identity`.")
    ] = None
    require_tls: Annotated[
        bool | None,
        doc("Refuse to send without STARTTLS. Unset: the global `smtp_require_tls`, else yes."),
    ] = None
    force_implicit_tls: Annotated[
        bool | None,
        doc(
            "Speak TLS from the first byte (true) or begin in the clear (false). Unset: true for "
            "port 465 only. Needs Alertmanager 0.31 or newer."
        ),
    ] = None
    tls_config: Annotated[
        SafeTlsConfig | None, doc("TLS settings for the SMTP server, for a private CA or the like.")
    ] = None


class Webhook(Notification):
    """A webhook, less the Secret with its URL."""

    url: Annotated[
        str | None,
        doc("URL to POST to; a template in recent Alertmanagers. Needed without `urlSecret`."),
    ] = None
    payload: Annotated[
        Text | None,
        doc(
            "Body to send instead of Alertmanager's own JSON; a template. Needs Alertmanager 0.32 "
            "or newer."
        ),
    ] = None
    max_alerts: Annotated[
        Int32 | None,
        doc(
            "Most alerts to put in one request; the others are left out. Unset or 0: all.",
            minimum=0,
        ),
    ] = None
    timeout: Annotated[
        Duration | None,
        doc(
            "How long to wait for an answer before trying again, as `10s`. Unset: until the "
            "group's next notification."
        ),
    ] = None


class Sns(
    Notification,
    rename=names(
        api_url="apiURL",
        topic_arn="topicARN",
        target_arn="targetARN",
        use_aws_http_client="useAWSHTTPClient",
    ),
):
    """Amazon SNS, less the HTTP client."""

    topic_arn: Annotated[
        Text | None,
        doc(
            "Topic to publish to; a template. One of `topicARN`, `targetARN` and `phoneNumber` is "
            "needed."
        ),
    ] = None
    target_arn: Annotated[
        Text | None, doc("Endpoint of a mobile device to publish to; a template.")
    ] = None
    phone_number: Annotated[
        Text | None, doc("Phone to send an SMS to, in E.164 form (`+4930123456`); a template.")
    ] = None
    subject: Annotated[
        Text | None,
        doc("Subject, for topics that send email; a template. Unset: `sns.default.subject`."),
    ] = None
    message: Annotated[Text | None, doc("Message; a template. Unset: `sns.default.message`.")] = (
        None
    )
    attributes: Annotated[
        dict[str, str] | None, doc("SNS message attributes, for subscription filters.")
    ] = None
    api_url: Annotated[
        str | None,
        doc("SNS endpoint, as `https://sns.us-east-2.amazonaws.com`. Unset: the AWS SDK's choice."),
    ] = None
    sigv4: Annotated[
        Sigv4 | None, doc("AWS credentials and region. Unset: the default credentials chain.")
    ] = None
    use_aws_http_client: Annotated[
        bool | None,
        doc(
            "Use the HTTP client of the AWS SDK, which reads its own CA settings, instead of "
            "Alertmanager's."
        ),
    ] = None
