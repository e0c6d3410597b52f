module judge

go 1.24

require github.com/grafana/regexp v0.0.0-20250905093917-f7b3be9d1853
