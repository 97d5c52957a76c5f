package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeBill writes what is shipped as a CycloneDX bill of materials. It holds no
// time and no random number: the same source gives the same bill.
func writeBill(name, version string, modules []module) error {
	bill := cdx.NewBOM()
	product := cdx.Component{
		BOMRef: "pkg:golang/" + ours + "@" + version, Type: cdx.ComponentTypeApplication,
		Name: ours, Version: version, PackageURL: "pkg:golang/" + ours + "@" + version,
	}
	bill.Metadata = &cdx.Metadata{Component: &product}
	var components []cdx.Component
	var refs []string
	for _, m := range modules {
		if m.shipped {
			components = append(components, m.component())
			refs = append(refs, m.purl())
		}
	}
	bill.Components = &components
	bill.Dependencies = &[]cdx.Dependency{{Ref: product.BOMRef, Dependencies: &refs}}

	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write the bill of materials: %w", err)
	}
	defer f.Close()
	if err := cdx.NewBOMEncoder(f, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bill); err != nil {
		return fmt.Errorf("write the bill of materials: %w", err)
	}
	return f.Close()
}

func (m module) purl() string { return "pkg:golang/" + m.Path + "@" + m.Version }

func (m module) component() cdx.Component {
	c := cdx.Component{
		BOMRef: m.purl(), Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: m.purl(),
		Licenses: &cdx.Licenses{{Expression: m.licence}},
	}
	// go.sum's h1 is a SHA-256 of the hashes of a module's files.
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) == 32 {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	}
	return c
}
