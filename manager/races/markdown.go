package races

import (
	"fmt"
	"strings"
)

// Markdown is the table as docs/guarantees.md shows it.
func Markdown() string {
	var b strings.Builder
	line := func(first string, cell func(i int) string) {
		fmt.Fprintf(&b, "| %s |", first)
		for i := range groups {
			fmt.Fprintf(&b, " %s |", cell(i))
		}
		b.WriteByte('\n')
	}
	line("", func(i int) string { return join(groups[i]) })
	line("---", func(int) string { return "---" })
	for row, g := range groups {
		line("**"+join(g)+"**", func(i int) string {
			if table[row][i] == nil {
				return "–"
			}
			return join(table[row][i])
		})
	}
	return b.String()
}

func join[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = string(s)
	}
	return strings.Join(texts, ", ")
}
