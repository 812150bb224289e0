import ArgumentParser

/// The files that a command applies to.
struct NameArguments: ParsableArguments {
    @Argument(help: ArgumentHelp(FileNaming.help, valueName: "file"), completion: .file())
    var names: [String] = []

    func validate() throws {
        // An unset shell variable must not select the current folder.
        if names.contains("") { throw ValidationError("A name is empty. Write . for the files of the current folder.") }
    }

    /// - Throws: `ValidationError` if no file is named.
    func require() throws {
        if names.isEmpty { throw ValidationError("Name the files. \(FileNaming.help)") }
    }

    /// Nil if no file is named.
    var naming: FileNaming? { names.isEmpty ? nil : FileNaming(names) }
}

extension DocumentTable {
    /// All tables in which commands find files: this one, and in the uploader's database also the files without a
    /// document.
    var all: [DocumentTable] { isOurs ? [self, .withoutDocument] : [self] }
}
