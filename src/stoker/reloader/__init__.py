"""The config reloader: unpacks a configuration, fills in the pod's own values, asks for a reload.

It runs beside each Prometheus, Alertmanager and ThanosRuler, hundreds of times in a large cluster,
so it is small: the standard library only, of that only the light parts (no asyncio, no http.*, no
logging; `ssl` when TLS is asked for), and nothing of the rest of stoker. Files are read as streams,
so the memory it takes does not depend on the size of a configuration.

    outline     where a line stands in block YAML
    expand      which `$(VARIABLE)` is ours, and its value in place of it
    files       digests of what is watched; outputs that are replaced as a whole, and put back
    watch       waits for a change of files (inotify)
    subscription  asks for the portion of a node, for ever;  frames  what a server says
    portion     the folder of that portion;  incoming  what arrives from one commit to the next
    request     HTTP requests;  trigger  a reload by HTTP or by a signal
    metrics     numbers for /metrics;  web  the listener;  webconfig  its TLS and its users
    options     the command line;  journal  the log;  run  the loop around all this
"""
