"""One full example of each discovery, and the configuration that it becomes."""

from typing import Any


def key(name: str) -> dict[str, str]:
    """Refer to a key of the Secret that all examples use."""
    return {"name": "cloud", "key": name}


OAUTH2 = {
    "clientId": {"configMap": {"name": "cloud", "key": "client"}},
    "clientSecret": key("token"),
    "tokenUrl": "https://login",
}

# What discoveries that speak HTTP share; only some can log in, and in one way at a time.
HTTP = {
    "proxyUrl": "http://proxy:3128",
    "noProxy": "10.0.0.0/8",
    "proxyConnectHeader": {"X-Team": [key("id")]},
    "tlsConfig": {"insecureSkipVerify": True, "minVersion": "TLS12"},
    "followRedirects": False,
    "enableHTTP2": False,
    "httpHeaders": {"X-Team": {"values": ["shop"], "secrets": [key("id")]}},
}
SIGNED = {
    "grantType": "JWTBearer",
    "clientCertificateKey": key("token"),
    "clientCertificateKeyID": "k1",
    "signatureAlgorithm": "RS512",
    "issuer": "us",
    "audience": "them",
    "claims": {"roles": ["read"], "level": 3, "nested": {"on": True}},
}
CREDENTIALS: list[dict[str, Any]] = [
    {"basicAuth": {"username": key("id"), "password": key("password")}},
    {"authorization": {"type": "Token", "credentials": key("token")}},
    {"oauth2": OAUTH2 | {"scopes": ["read"], "endpointParams": {"a": "b"}}},
    {"oauth2": OAUTH2 | SIGNED},
]

LOGINS = {name for way in CREDENTIALS for name in way}

AWS = {
    "region": "eu-west-1",
    "endpoint": "https://aws.example.com",
    "accessKey": key("id"),
    "secretKey": key("password"),
    "profile": "scrape",
    "roleARN": "arn:aws:iam::1:role/scrape",
    "externalID": "shop",
    "port": 9100,
    "refreshInterval": "2m",
}

# For each field of a ScrapeConfig that holds discoveries: an entry with all settings of its own,
# and what Prometheus shall read.
EXAMPLES: dict[str, tuple[dict[str, Any], str]] = {
    "fileSDConfigs": (
        {"files": ["/targets/*.yaml"], "refreshInterval": "2m"},
        """\
file_sd_configs:
- files:
  - /targets/*.yaml
  refresh_interval: 2m
""",
    ),
    "httpSDConfigs": (
        {
            "url": "https://inventory/targets",
            "refreshInterval": "2m",
            "basicAuth": {"username": key("id"), "password": key("password")},
            "proxyUrl": "http://proxy:3128",
            "noProxy": "10.0.0.0/8",
            "tlsConfig": {"ca": {"secret": key("ca")}, "serverName": "inventory"},
            "followRedirects": False,
            "enableHTTP2": False,
            "httpHeaders": {
                "X-Team": {"values": ["shop"], "secrets": [key("id"), key("token")]},
            },
        },
        """\
http_sd_configs:
- basic_auth:
    username: me
    password: pa55
  tls_config:
    ca_file: /etc/prometheus/certs/0_team_cloud_ca
    server_name: inventory
  proxy_url: http://proxy:3128
  no_proxy: 10.0.0.0/8
  url: https://inventory/targets
  refresh_interval: 2m
  follow_redirects: false
  enable_http2: false
  http_headers:
    X-Team:
      values:
      - shop
      secrets:
      - me
      - t0ken
""",
    ),
    "dnsSDConfigs": (
        {"names": ["db.example.com"], "type": "MX", "port": 9104, "refreshInterval": "2m"},
        """\
dns_sd_configs:
- names:
  - db.example.com
  refresh_interval: 2m
  type: MX
  port: 9104
""",
    ),
    "kubernetesSDConfigs": (
        {
            "role": "EndpointSlice",
            "apiServer": "https://other-cluster",
            "authorization": {"credentials": key("token")},
            "namespaces": {"ownNamespace": False, "names": ["shop"]},
            "selectors": [{"role": "Service", "label": "app=shop", "field": "metadata.name=web"}],
            "attachMetadata": {
                "node": True,
                "namespace": True,
                "deployment": True,
                "job": True,
                "cronJob": True,
            },
        },
        """\
kubernetes_sd_configs:
- api_server: https://other-cluster
  role: endpointslice
  authorization:
    type: Bearer
    credentials: t0ken
  namespaces:
    names:
    - shop
    own_namespace: false
  selectors:
  - role: service
    label: app=shop
    field: metadata.name=web
  attach_metadata:
    node: true
    namespace: true
    deployment: true
    job: true
    cronjob: true
""",
    ),
    "consulSDConfigs": (
        {
            "server": "consul:8500",
            "pathPrefix": "/consul",
            "tokenRef": key("token"),
            "datacenter": "dc1",
            "namespace": "team",
            "partition": "eu",
            "scheme": "HTTPS",
            "services": ["web"],
            "tags": ["blue"],
            "tagSeparator": ";",
            "nodeMeta": {"rack": "7", "az": "a"},
            "filter": "Service == web",
            "healthFilter": "Service.Tags contains blue",
            "allowStale": False,
            "refreshInterval": "2m",
        },
        """\
consul_sd_configs:
- server: consul:8500
  path_prefix: /consul
  token: t0ken
  datacenter: dc1
  namespace: team
  partition: eu
  scheme: https
  services:
  - web
  tags:
  - blue
  tag_separator: ;
  node_meta:
    az: a
    rack: "7"
  filter: Service == web
  health_filter: Service.Tags contains blue
  allow_stale: false
  refresh_interval: 2m
""",
    ),
    "nomadSDConfigs": (
        {
            "server": "http://nomad:4646",
            "namespace": "team",
            "region": "eu",
            "tagSeparator": ";",
            "allowStale": False,
            "refreshInterval": "2m",
            "oauth2": OAUTH2,
        },
        """\
nomad_sd_configs:
- oauth2:
    client_id: us
    client_secret: t0ken
    token_url: https://login
  server: http://nomad:4646
  allow_stale: false
  namespace: team
  refresh_interval: 2m
  region: eu
  tag_separator: ;
""",
    ),
    "eurekaSDConfigs": (
        {"server": "http://eureka:8761/eureka", "refreshInterval": "2m"},
        """\
eureka_sd_configs:
- refresh_interval: 2m
  server: http://eureka:8761/eureka
""",
    ),
    "kumaSDConfigs": (
        {
            "server": "http://kuma:5676",
            "clientID": "main",
            "fetchTimeout": "1m",
            "refreshInterval": "2m",
        },
        """\
kuma_sd_configs:
- server: http://kuma:5676
  refresh_interval: 2m
  fetch_timeout: 1m
  client_id: main
""",
    ),
    "puppetDBSDConfigs": (
        {
            "url": "https://puppetdb:8081",
            "query": "nodes { }",
            "includeParameters": True,
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
puppetdb_sd_configs:
- url: https://puppetdb:8081
  query: nodes { }
  include_parameters: true
  port: 9100
  refresh_interval: 2m
""",
    ),
    "dockerSDConfigs": (
        {
            "host": "tcp://docker:2375",
            "filters": [
                {"name": "network", "values": ["front"]},
                {"name": "label", "values": ["scrape", "now"]},
            ],
            "port": 9100,
            "hostNetworkingHost": "docker",
            "matchFirstNetwork": False,
            "refreshInterval": "2m",
        },
        """\
docker_sd_configs:
- filters:
  - name: label
    values:
    - scrape
    - now
  - name: network
    values:
    - front
  host: tcp://docker:2375
  port: 9100
  host_networking_host: docker
  match_first_network: false
  refresh_interval: 2m
""",
    ),
    "dockerSwarmSDConfigs": (
        {
            "host": "tcp://manager:2375",
            "role": "Tasks",
            "filters": [{"name": "node", "values": ["n1"]}],
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
dockerswarm_sd_configs:
- filters:
  - name: node
    values:
    - n1
  host: tcp://manager:2375
  role: tasks
  port: 9100
  refresh_interval: 2m
""",
    ),
    "ec2SDConfigs": (
        {
            "region": "eu-west-1",
            "endpoint": "https://ec2.example.com",
            "accessKey": key("id"),
            "secretKey": key("password"),
            "roleARN": "arn:aws:iam::1:role/scrape",
            "externalID": "shop",
            "profile": "scrape",
            "filters": [{"name": "tag:team", "values": ["shop"]}],
            "port": 9100,
            "refreshInterval": "2m",
            "followRedirects": True,
        },
        """\
ec2_sd_configs:
- region: eu-west-1
  access_key: me
  secret_key: pa55
  role_arn: arn:aws:iam::1:role/scrape
  refresh_interval: 2m
  port: 9100
  filters:
  - name: tag:team
    values:
    - shop
  follow_redirects: true
  endpoint: https://ec2.example.com
  profile: scrape
  external_id: shop
""",
    ),
    "lightSailSDConfigs": (
        {
            "region": "eu-west-1",
            "endpoint": "https://lightsail.example.com",
            "accessKey": key("id"),
            "secretKey": key("password"),
            "roleARN": "arn:aws:iam::1:role/scrape",
            "externalID": "shop",
            "profile": "scrape",
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
lightsail_sd_configs:
- region: eu-west-1
  endpoint: https://lightsail.example.com
  port: 9100
  refresh_interval: 2m
  access_key: me
  secret_key: pa55
  role_arn: arn:aws:iam::1:role/scrape
  profile: scrape
  external_id: shop
""",
    ),
    "azureSDConfigs": (
        {
            "environment": "AzurePublicCloud",
            "authenticationMethod": "OAuth",
            "subscriptionID": "subscription",
            "tenantID": "tenant",
            "clientID": "client",
            "clientSecret": key("password"),
            "resourceGroup": "group",
            "port": 9100,
            "refreshInterval": "2m",
            "followRedirects": True,
            "enableHTTP2": False,
        },
        """\
azure_sd_configs:
- environment: AzurePublicCloud
  authentication_method: OAuth
  subscription_id: subscription
  tenant_id: tenant
  client_id: client
  client_secret: pa55
  resource_group: group
  refresh_interval: 2m
  port: 9100
  enable_http2: false
""",
    ),
    "gceSDConfigs": (
        {
            "project": "shop",
            "zone": "europe-west1-b",
            "filter": "labels.scrape=yes",
            "tagSeparator": ";",
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
gce_sd_configs:
- project: shop
  zone: europe-west1-b
  filter: labels.scrape=yes
  refresh_interval: 2m
  port: 9100
  tag_separator: ;
""",
    ),
    "digitalOceanSDConfigs": (
        {
            "authorization": {"credentials": key("token")},
            "role": "Databases",
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
digitalocean_sd_configs:
- authorization:
    type: Bearer
    credentials: t0ken
  role: databases
  port: 9100
  refresh_interval: 2m
""",
    ),
    "hetznerSDConfigs": (
        {
            "role": "Hcloud",
            "authorization": {"credentials": key("token")},
            "labelSelector": "team=shop",
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
hetzner_sd_configs:
- authorization:
    type: Bearer
    credentials: t0ken
  role: hcloud
  port: 9100
  refresh_interval: 2m
  label_selector: team=shop
""",
    ),
    "ionosSDConfigs": (
        {
            "datacenterID": "dc",
            "authorization": {"credentials": key("token")},
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
ionos_sd_configs:
- authorization:
    type: Bearer
    credentials: t0ken
  datacenter_id: dc
  port: 9100
  refresh_interval: 2m
""",
    ),
    "linodeSDConfigs": (
        {
            "authorization": {"credentials": key("token")},
            "region": "eu-west",
            "tagSeparator": ";",
            "port": 9100,
            "refreshInterval": "2m",
            "followRedirects": True,
            "enableHTTP2": True,
        },
        """\
linode_sd_configs:
- authorization:
    type: Bearer
    credentials: t0ken
  port: 9100
  region: eu-west
  enable_http2: true
  tag_separator: ;
  refresh_interval: 2m
  follow_redirects: true
""",
    ),
    "openstackSDConfigs": (
        {
            "role": "LoadBalancer",
            "region": "eu",
            "identityEndpoint": "https://keystone/v3",
            "username": "prometheus",
            "userid": "42",
            "password": key("password"),
            "domainName": "default",
            "domainID": "d1",
            "projectName": "shop",
            "projectID": "p1",
            "applicationCredentialName": "scrape",
            "applicationCredentialId": "c1",
            "applicationCredentialSecret": key("token"),
            "allTenants": True,
            "availability": "Internal",
            "tlsConfig": {"insecureSkipVerify": True},
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
openstack_sd_configs:
- role: loadbalancer
  region: eu
  identity_endpoint: https://keystone/v3
  username: prometheus
  userid: "42"
  password: pa55
  domain_name: default
  domain_id: d1
  project_name: shop
  project_id: p1
  application_credential_name: scrape
  application_credential_id: c1
  application_credential_secret: t0ken
  all_tenants: true
  refresh_interval: 2m
  port: 9100
  availability: internal
  tls_config:
    insecure_skip_verify: true
""",
    ),
    "ovhcloudSDConfigs": (
        {
            "service": "DedicatedServer",
            "applicationKey": "app",
            "applicationSecret": key("password"),
            "consumerKey": key("token"),
            "endpoint": "ovh-ca",
            "refreshInterval": "2m",
        },
        """\
ovhcloud_sd_configs:
- application_key: app
  application_secret: pa55
  consumer_key: t0ken
  service: dedicated_server
  endpoint: ovh-ca
  refresh_interval: 2m
""",
    ),
    "scalewaySDConfigs": (
        {
            "role": "Baremetal",
            "projectID": "11111111-1111-1111-1111-111111111111",
            "accessKey": "SCWXXXXXXXXXXXXXXXXX",
            "secretKey": key("uuid"),
            "zone": "fr-par-2",
            "nameFilter": "web",
            "tagsFilter": ["blue"],
            "apiURL": "https://api.scaleway.com",
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
scaleway_sd_configs:
- access_key: SCWXXXXXXXXXXXXXXXXX
  secret_key: 22222222-2222-2222-2222-222222222222
  project_id: 11111111-1111-1111-1111-111111111111
  role: baremetal
  port: 9100
  api_url: https://api.scaleway.com
  zone: fr-par-2
  name_filter: web
  tags_filter:
  - blue
  refresh_interval: 2m
""",
    ),
    "awsSDConfigs": (
        {
            "role": "RDS",
            **AWS,
            "filters": [{"name": "engine", "values": ["mysql"]}],
            "clusters": ["shop"],
        },
        """\
aws_sd_configs:
- role: rds
  region: eu-west-1
  endpoint: https://aws.example.com
  access_key: me
  secret_key: pa55
  profile: scrape
  role_arn: arn:aws:iam::1:role/scrape
  external_id: shop
  port: 9100
  refresh_interval: 2m
  filters:
  - name: engine
    values:
    - mysql
  clusters:
  - shop
""",
    ),
    "ecsSDConfigs": (
        {**AWS, "clusters": ["shop"], "requestConcurrency": 5},
        """\
ecs_sd_configs:
- region: eu-west-1
  endpoint: https://aws.example.com
  access_key: me
  secret_key: pa55
  profile: scrape
  role_arn: arn:aws:iam::1:role/scrape
  external_id: shop
  port: 9100
  refresh_interval: 2m
  clusters:
  - shop
  request_concurrency: 5
""",
    ),
    "elastiCacheSDConfigs": (
        {**AWS, "clusters": ["shop"], "requestConcurrency": 5},
        """\
elasticache_sd_configs:
- region: eu-west-1
  endpoint: https://aws.example.com
  access_key: me
  secret_key: pa55
  profile: scrape
  role_arn: arn:aws:iam::1:role/scrape
  external_id: shop
  port: 9100
  refresh_interval: 2m
  clusters:
  - shop
  request_concurrency: 5
""",
    ),
    "mskSDConfigs": (
        {**AWS, "clusters": ["shop"], "requestConcurrency": 5},
        """\
msk_sd_configs:
- region: eu-west-1
  endpoint: https://aws.example.com
  access_key: me
  secret_key: pa55
  profile: scrape
  role_arn: arn:aws:iam::1:role/scrape
  external_id: shop
  port: 9100
  refresh_interval: 2m
  clusters:
  - shop
  request_concurrency: 5
""",
    ),
    "rdsSDConfigs": (
        {
            **AWS,
            "clusters": ["shop"],
            "requestConcurrency": 5,
            "filters": [{"name": "engine", "values": ["mysql"]}],
        },
        """\
rds_sd_configs:
- region: eu-west-1
  endpoint: https://aws.example.com
  access_key: me
  secret_key: pa55
  profile: scrape
  role_arn: arn:aws:iam::1:role/scrape
  external_id: shop
  port: 9100
  refresh_interval: 2m
  clusters:
  - shop
  request_concurrency: 5
  filters:
  - name: engine
    values:
    - mysql
""",
    ),
    "marathonSDConfigs": (
        {
            "servers": ["https://marathon:8080"],
            "authToken": key("token"),
            "refreshInterval": "2m",
        },
        """\
marathon_sd_configs:
- servers:
  - https://marathon:8080
  auth_token: t0ken
  refresh_interval: 2m
""",
    ),
    "nerveSDConfigs": (
        {"servers": ["zookeeper:2181"], "paths": ["/nerve/services"], "timeout": "5s"},
        """\
nerve_sd_configs:
- servers:
  - zookeeper:2181
  paths:
  - /nerve/services
  timeout: 5s
""",
    ),
    "serversetSDConfigs": (
        {"servers": ["zookeeper:2181"], "paths": ["/discovery"], "timeout": "5s"},
        """\
serverset_sd_configs:
- servers:
  - zookeeper:2181
  paths:
  - /discovery
  timeout: 5s
""",
    ),
    "ociSDConfigs": (
        {
            "authenticationMethod": "APIKey",
            "tenancy": "ocid1.tenancy.oc1..x",
            "user": "ocid1.user.oc1..x",
            "fingerprint": "aa:bb",
            "privateKey": key("token"),
            "privateKeyPassphrase": key("password"),
            "region": "eu-frankfurt-1",
            "compartments": ["ocid1.compartment.oc1..x"],
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
oci_sd_configs:
- auth: api_key
  tenancy: ocid1.tenancy.oc1..x
  user: ocid1.user.oc1..x
  fingerprint: aa:bb
  key_file: /etc/prometheus/certs/0_team_cloud_token
  key_passphrase: pa55
  region: eu-frankfurt-1
  compartments:
  - ocid1.compartment.oc1..x
  port: 9100
  refresh_interval: 2m
""",
    ),
    "outscaleSDConfigs": (
        {
            "accessKey": key("id"),
            "secretKey": key("password"),
            "region": "eu-west-2",
            "endpoint": "https://api.example.com/api/v1",
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
outscale_sd_configs:
- endpoint: https://api.example.com/api/v1
  region: eu-west-2
  access_key: me
  secret_key: pa55
  refresh_interval: 2m
  port: 9100
""",
    ),
    "stackitSDConfigs": (
        {
            "project": "shop",
            "region": "eu01",
            "endpoint": "https://iaas.example.com",
            "serviceAccountKey": key("token"),
            "privateKey": key("password"),
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
stackit_sd_configs:
- project: shop
  region: eu01
  endpoint: https://iaas.example.com
  service_account_key: t0ken
  private_key: pa55
  refresh_interval: 2m
  port: 9100
""",
    ),
    "tritonSDConfigs": (
        {
            "account": "shop",
            "role": "Container",
            "dnsSuffix": "triton.example.com",
            "endpoint": "cmon.example.com",
            "groups": ["web"],
            "version": 1,
            "tlsConfig": {"insecureSkipVerify": True},
            "port": 9163,
            "refreshInterval": "2m",
        },
        """\
triton_sd_configs:
- account: shop
  role: container
  dns_suffix: triton.example.com
  endpoint: cmon.example.com
  groups:
  - web
  port: 9163
  refresh_interval: 2m
  tls_config:
    insecure_skip_verify: true
  version: 1
""",
    ),
    "uyuniSDConfigs": (
        {
            "server": "https://uyuni",
            "username": "prometheus",
            "password": key("password"),
            "entitlement": "monitoring_entitled",
            "separator": ";",
            "refreshInterval": "2m",
        },
        """\
uyuni_sd_configs:
- server: https://uyuni
  username: prometheus
  password: pa55
  entitlement: monitoring_entitled
  separator: ;
  refresh_interval: 2m
""",
    ),
    "vultrSDConfigs": (
        {"authorization": {"credentials": key("token")}, "port": 9100, "refreshInterval": "2m"},
        """\
vultr_sd_configs:
- authorization:
    type: Bearer
    credentials: t0ken
  port: 9100
  refresh_interval: 2m
""",
    ),
}
