//go:build go1.25

package main

import "unicode"

// aliases are long names of categories, which Go knows since 1.25.
var aliases = unicode.CategoryAliases
