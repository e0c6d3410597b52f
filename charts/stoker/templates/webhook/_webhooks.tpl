{{/* The Secret with the certificate. */}}
{{- define "stoker.webhookSecret" -}}
{{- .Values.webhook.secretName | default (printf "%s-webhook" (include "stoker.name" .)) -}}
{{- end -}}

{{/* How the API server knows the certificate: by cert-manager, or by the authority that is given. */}}
{{- define "stoker.webhookAnnotations" -}}
{{- if .Values.webhook.certManager.enabled }}
annotations:
  cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "stoker.name" . }}-webhook
{{- end }}
{{- end -}}

{{- define "stoker.caBundle" -}}
{{- if not .Values.webhook.certManager.enabled -}}
{{- required "webhook.caBundle is needed with a certificate of your own: the authority it is signed by, PEM in base64. Or set webhook.certManager.enabled." .Values.webhook.caBundle -}}
{{- end -}}
{{- end -}}

{{/* One webhook: (list . "prometheusrulevalidate" "prometheusrules" "validate"), and a policy of its own. */}}
{{- define "stoker.webhook" -}}
{{- $top := index . 0 -}}
{{- $plural := index . 2 -}}
{{- $policy := $top.Values.webhook.failurePolicy -}}
{{- if gt (len .) 4 -}}
{{- $policy = index . 4 -}}
{{- end -}}
- name: {{ index . 1 }}.monitoring.coreos.com
  clientConfig:
    {{- with include "stoker.caBundle" $top }}
    caBundle: {{ . }}
    {{- end }}
    service:
      name: {{ include "stoker.name" $top }}-webhook
      namespace: {{ $top.Release.Namespace }}
      path: /admission-{{ $plural }}/{{ index . 3 }}
  rules:
    - apiGroups: [monitoring.coreos.com]
      apiVersions: ["*"]
      operations: [CREATE, UPDATE]
      resources: [{{ $plural }}]
  failurePolicy: {{ $policy }}
  timeoutSeconds: 10
  admissionReviewVersions: [v1]
  sideEffects: None
{{- end -}}
