{{/* What all names begin with. */}}
{{- define "stoker.name" -}}
{{- .Values.fullnameOverride | default .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* By what pods are found. A component's name is given: (list . "operator"). */}}
{{- define "stoker.selector" -}}
{{- $top := index . 0 -}}
app.kubernetes.io/name: stoker
app.kubernetes.io/instance: {{ $top.Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "stoker.labels" -}}
{{- $top := index . 0 -}}
{{ include "stoker.selector" . }}
app.kubernetes.io/version: {{ $top.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $top.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $top.Chart.Name $top.Chart.Version | replace "+" "_" }}
{{- with $top.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "stoker.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* How a pod is spread, shielded and placed: the same for all components. (list . "operator" values) */}}
{{- define "stoker.placement" -}}
{{- $top := index . 0 -}}
{{- $values := index . 2 -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "stoker.selector" . | nindent 8 }}
{{- with $top.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "stoker.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65534
runAsGroup: 65534
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "stoker.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* The Lease by which a leader is elected; the role allows this one. */}}
{{- define "stoker.lease" -}}
{{ include "stoker.name" . }}-operator
{{- end -}}

{{/* Flags by which the operator needs other rights have values of their own, which grant them too. */}}
{{- define "stoker.checkArgs" -}}
{{- $instead := dict
  "namespaces" "`scope` and `namespaces`"
  "kubelet-service" "`kubelet.service`"
  "kubelet-endpointslice" "`kubelet.endpointSlices`"
  "repair-policy-for-statefulsets" "`repair`"
  "consolidate-monitors" "`consolidate.enabled`"
  "node-discovery-url" "`nodeDiscovery.enabled`"
  "page-auth" "`statusPage.login`"
  "leader-election-id" "`fullnameOverride`"
  "leader-election-namespace" "the namespace of the release"
-}}
{{- range $argument := .Values.operator.args }}
{{- $flag := regexReplaceAll "^--?([a-z-]+).*$" $argument "${1}" }}
{{- if hasKey $instead $flag }}
{{- fail (printf "operator.args has %s, by which the operator needs other rights: use %s" $argument (get $instead $flag)) }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What the components of deploy/ add to the operator's role. */}}
{{- define "stoker.rulesOfComponents" -}}
{{- if .Values.repair.enabled }}
- apiGroups: [""]
  {{- if eq .Values.repair.policy "delete" }}
  resources: [pods]
  verbs: [delete]
  {{- else }}
  resources: [pods/eviction]
  verbs: [create]
  {{- end }}
{{- end }}
{{- if .Values.nodeDiscovery.enabled }}
- apiGroups: [""]
  resources: [pods]
  verbs: [watch]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list, watch]
{{- end }}
{{- if .Values.consolidate.enabled }}
- apiGroups: [monitoring.coreos.com]
  resources: [scrapeconfigs]
  verbs: [get, create, patch, delete]
{{- else if .Values.consolidate.cleanUp }}
- apiGroups: [monitoring.coreos.com]
  resources: [scrapeconfigs]
  verbs: [delete]
{{- end }}
{{- end -}}
