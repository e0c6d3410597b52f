{{/* Written by `make reference` from deploy/cluster/role.yaml and deploy/namespaced. */}}
{{- define "stoker.rulesOfCluster" -}}
# Workloads. `patch` takes off a finalizer that prometheus-operator left, and takes over its fields.
- apiGroups: [monitoring.coreos.com]
  resources: [prometheuses, prometheusagents, alertmanagers, thanosrulers]
  verbs: [get, list, watch, patch]
# Objects are owned by their workload and hold up its deletion, which some clusters (OpenShift)
# only allow to those who may set finalizers on it.
- apiGroups: [monitoring.coreos.com]
  resources:
    - prometheuses/finalizers
    - prometheusagents/finalizers
    - alertmanagers/finalizers
    - thanosrulers/finalizers
  verbs: [update]
# What workloads select.
- apiGroups: [monitoring.coreos.com]
  resources:
    - servicemonitors
    - podmonitors
    - probes
    - scrapeconfigs
    - prometheusrules
    - alertmanagerconfigs
  verbs: [list, watch]
- apiGroups: [monitoring.coreos.com]
  resources:
    - prometheuses/status
    - prometheusagents/status
    - alertmanagers/status
    - thanosrulers/status
    - servicemonitors/status
    - podmonitors/status
    - probes/status
    - scrapeconfigs/status
    - prometheusrules/status
    - alertmanagerconfigs/status
  verbs: [patch]
# What is made for workloads, and the values that resources refer to.
- apiGroups: [""]
  resources: [secrets, configmaps]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [apps]
  resources: [statefulsets, daemonsets]
  verbs: [get, list, watch, create, patch, delete]
# Workloads share a Service; one of a user's own is only looked at.
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, watch, create]
# Who changes its owners must be allowed to delete it in such clusters.
- apiGroups: [""]
  resources: [services]
  resourceNames:
    - prometheus-operated
    - prometheus-agent-operated
    - alertmanager-operated
    - thanos-ruler-operated
  verbs: [patch, delete]
# How workloads fare; claims that grow with them.
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [list, patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
# Belongs to the whole cluster.
- apiGroups: [""]
  resources: [namespaces]
  verbs: [list, watch]
- apiGroups: [storage.k8s.io]
  resources: [storageclasses]
  verbs: [get]
# Which of them an agent on nodes is not on; they are watched as long as there is one.
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, watch]
{{- end -}}

{{- define "stoker.rulesOfNamespace" -}}
# Workloads. `patch` takes off a finalizer that prometheus-operator left, and takes over its fields.
- apiGroups: [monitoring.coreos.com]
  resources: [prometheuses, prometheusagents, alertmanagers, thanosrulers]
  verbs: [get, list, watch, patch]
# Objects are owned by their workload and hold up its deletion, which some clusters (OpenShift)
# only allow to those who may set finalizers on it.
- apiGroups: [monitoring.coreos.com]
  resources:
    - prometheuses/finalizers
    - prometheusagents/finalizers
    - alertmanagers/finalizers
    - thanosrulers/finalizers
  verbs: [update]
# What workloads select.
- apiGroups: [monitoring.coreos.com]
  resources:
    - servicemonitors
    - podmonitors
    - probes
    - scrapeconfigs
    - prometheusrules
    - alertmanagerconfigs
  verbs: [list, watch]
- apiGroups: [monitoring.coreos.com]
  resources:
    - prometheuses/status
    - prometheusagents/status
    - alertmanagers/status
    - thanosrulers/status
    - servicemonitors/status
    - podmonitors/status
    - probes/status
    - scrapeconfigs/status
    - prometheusrules/status
    - alertmanagerconfigs/status
  verbs: [patch]
# What is made for workloads, and the values that resources refer to.
- apiGroups: [""]
  resources: [secrets, configmaps]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [apps]
  resources: [statefulsets, daemonsets]
  verbs: [get, list, watch, create, patch, delete]
# Workloads share a Service; one of a user's own is only looked at.
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, watch, create]
# Who changes its owners must be allowed to delete it in such clusters.
- apiGroups: [""]
  resources: [services]
  resourceNames:
    - prometheus-operated
    - prometheus-agent-operated
    - alertmanager-operated
    - thanos-ruler-operated
  verbs: [patch, delete]
# How workloads fare; claims that grow with them.
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [list, patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
# The labels of the namespace itself. (A Role cannot allow to list namespaces.)
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get]
{{- end -}}
