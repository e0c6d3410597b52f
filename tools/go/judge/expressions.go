package main

import (
	"encoding/json"
	"regexp"
	"unicode"

	copied "github.com/grafana/regexp/syntax"
)

// matcher reads an expression as a matcher of Prometheus does: the copy of Go's parser that it has
// parses it, and what the tree looks like as a text is put between anchors and compiled.
func matcher(text string) answer {
	parsed, err := copied.Parse(text, copied.Perl|copied.DotNL)
	if err != nil {
		return refused(err)
	}
	compiled, err := regexp.Compile("^(?s:" + parsed.String() + ")$")
	if err != nil {
		return refused(err)
	}
	return answer{Empty: compiled.MatchString("")}
}

// class is a named set of characters: how many numbers its ranges take, as they are and with all
// that differs only in case.
type class struct {
	Name   string `json:"name"`
	Script bool   `json:"script"`
	Runes  int    `json:"runes"`
	Folded int    `json:"folded"`
}

// classes are all that \p knows, in JSON.
func classes() string {
	var known []class
	for name, table := range unicode.Categories {
		known = append(known, described(name, false, table, unicode.FoldCategory[name]))
	}
	for name, table := range unicode.Scripts {
		known = append(known, described(name, true, table, unicode.FoldScript[name]))
	}
	text, err := json.Marshal(map[string]any{"classes": known, "aliases": aliases})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func described(name string, script bool, table, folds *unicode.RangeTable) class {
	if folds == nil {
		return class{name, script, runes(table), runes(table)}
	}
	return class{name, script, runes(table), runes(table, folds)}
}

func runes(tables ...*unicode.RangeTable) int {
	ranges, before := 0, false
	for each := rune(0); each <= unicode.MaxRune; each++ {
		within := unicode.In(each, tables...)
		if within && !before {
			ranges++
		}
		before = within
	}
	return 2 * ranges
}
