#!/bin/sh
# Makes a certificate for the webhook and tells the API server to trust it. Run it again to renew.
set -eu

namespace=stoker
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
    -subj "/CN=stoker-webhook.$namespace.svc" \
    -addext "subjectAltName=DNS:stoker-webhook.$namespace.svc" \
    -keyout "$folder/tls.key" -out "$folder/tls.crt" 2>/dev/null

kubectl -n "$namespace" create secret tls stoker-webhook --dry-run=client -o yaml \
    --cert="$folder/tls.crt" --key="$folder/tls.key" | kubectl apply -f -

bundle=$(base64 <"$folder/tls.crt" | tr -d '\n')
for kind in validatingwebhookconfiguration mutatingwebhookconfiguration; do
    count=$(kubectl get "$kind" stoker-webhook -o jsonpath='{range .webhooks[*]}x{end}' | wc -c)
    patch=
    index=0
    while [ "$index" -lt "$count" ]; do
        patch="$patch,{\"op\":\"add\",\"path\":\"/webhooks/$index/clientConfig/caBundle\",\"value\":\"$bundle\"}"
        index=$((index + 1))
    done
    kubectl patch "$kind" stoker-webhook --type=json --patch "[${patch#,}]"
done

# A definition of one version has nothing to convert.
for plural in alertmanagerconfigs scrapeconfigs; do
    crd=$plural.monitoring.coreos.com
    count=$(kubectl get crd "$crd" --ignore-not-found -o jsonpath='{range .spec.versions[*]}x{end}' | wc -c)
    [ "$count" -gt 1 ] || continue
    kubectl patch crd "$crd" --type=merge --patch "{\"spec\":{\"conversion\":{
    \"strategy\":\"Webhook\",\"webhook\":{\"conversionReviewVersions\":[\"v1\"],\"clientConfig\":{
    \"caBundle\":\"$bundle\",\"service\":{\"name\":\"stoker-webhook\",\"namespace\":\"$namespace\",\"path\":\"/convert\"}}}}}}"
done
