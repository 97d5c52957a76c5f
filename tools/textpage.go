package tools

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// isText tells whether the start of a file is text: UTF-8 without NUL. A sample
// that is not the whole file may end inside a character.
func isText(sample []byte, whole bool) bool {
	if !whole {
		sample = sample[:len(sample)-len(partial(sample))]
	}
	return utf8.Valid(sample) && bytes.IndexByte(sample, 0) < 0
}

// lineReader reads lines of any length in memory for most bytes of each.
type lineReader struct {
	r    *bufio.Reader
	most int
}

// next is a line with its end. At the end of the file it is empty.
func (l lineReader) next() (line []byte, cut bool, err error) {
	for {
		part, err := l.r.ReadSlice('\n')
		room := l.most - len(line)
		if len(part) > room {
			part, cut = part[:room], true
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err == io.EOF {
			err = nil
		}
		return line, cut, err
	}
}

// more tells whether the file goes on.
func (l lineReader) more() (bool, error) {
	_, err := l.r.Peek(1)
	if err == io.EOF {
		return false, nil
	}
	return err == nil, err
}

// skip reads past n lines, or as many as there are.
func (l lineReader) skip(n int64) (skipped int64, err error) {
	l.most = 0
	for skipped < n {
		if more, err := l.more(); err != nil || !more {
			return skipped, err
		}
		if _, _, err := l.next(); err != nil {
			return skipped, err
		}
		skipped++
	}
	return skipped, nil
}

// readText is the page of lines after offset that fits, at most limit of them.
// It reads through the file from its start, holding one page. When r is not the
// whole file, a page that reaches its end is refused by errFurtherOn.
func readText(r *bufio.Reader, f schemas.FileInfo, whole bool, offset, limit int64) (schemas.FileContent, error) {
	lines := lineReader{r, readFileChars}
	skipped, err := lines.skip(offset)
	if err != nil {
		return schemas.FileContent{}, err
	}
	p := textPage{}
	if err := p.fill(lines, limit); err != nil {
		return schemas.FileContent{}, err
	}
	content := schemas.FileContent{
		Path: f.Path, SizeBytes: f.Size, Encoding: schemas.EncodingUTF8,
		Content: p.text.String(), Offset: offset, Lines: &p.lines, CutLine: p.cut, Truncated: p.cut,
	}
	if p.cut {
		content.CutAt = int64(utf8.RuneCountInString(content.Content))
	}
	more, err := lines.more()
	if err != nil {
		return schemas.FileContent{}, err
	}
	if !more && !whole {
		return schemas.FileContent{}, errFurtherOn
	}
	seen := skipped + p.lines
	if p.left {
		seen++
	}
	if more || p.left {
		next := skipped + p.lines
		content.NextOffset, content.Truncated = &next, true
	}
	if more && (f.Size > countLinesUpTo || !whole) {
		return content, nil
	}
	rest, err := lines.skip(maxOffset)
	total := seen + rest
	content.TotalLines = &total
	return content, err
}

var errFurtherOn = errors.New("the page is further on in the file than is read")

// textPage gathers lines while they fit.
type textPage struct {
	text  strings.Builder
	lines int64
	chars int
	cut   bool // its only line is longer than a page, and is not all there
	left  bool // one more line was read but did not fit
}

func (p *textPage) fill(lines lineReader, limit int64) error {
	for p.lines < limit {
		raw, cut, err := lines.next()
		if err != nil || len(raw) == 0 {
			return err
		}
		line, used := takeHead(raw, budget{math.MaxInt, readFileChars - p.chars})
		fits := used == len(raw) && !cut
		if !fits && p.lines > 0 {
			p.left = true
			return nil
		}
		p.text.WriteString(line)
		p.chars += jsonLen(line)
		p.lines++
		if p.cut = !fits; p.cut {
			return nil
		}
	}
	return nil
}
