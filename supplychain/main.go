// Supplychain tells what the product is made of: the modules that are linked into
// what is shipped, and those that only build and test it, with their licences. It
// asks the go command and the module cache, never the network.
//
//	go run ./supplychain -licences FILE   writes a table (docs/licences.md)
//	go run ./supplychain -sbom FILE       writes a bill of materials (CycloneDX, JSON)
//
// It fails when a module has no licence that it knows, or one that is not allowed:
// see allowed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

//go:generate go run . -licences ../docs/licences.md

func main() {
	licences := flag.String("licences", "", "write the table of modules and licences to this `file`")
	sbom := flag.String("sbom", "", "write the bill of materials to this `file`")
	version := flag.String("version", "dev", "the product's `version`, for the bill of materials")
	flag.Parse()
	if err := run(*licences, *sbom, *version); err != nil {
		fmt.Fprintln(os.Stderr, "supplychain:", err)
		os.Exit(1)
	}
}

func run(licences, sbom, version string) error {
	modules, err := listModules()
	if err != nil {
		return err
	}
	var problems []error
	for i := range modules {
		if err := modules[i].findLicence(); err != nil {
			problems = append(problems, err)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	if licences != "" {
		if err := os.WriteFile(licences, []byte(table(modules)), 0o644); err != nil {
			return fmt.Errorf("write the table: %w", err)
		}
	}
	if sbom != "" {
		return writeBill(sbom, version, modules)
	}
	return nil
}
