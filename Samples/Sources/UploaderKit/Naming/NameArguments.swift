import ArgumentParser

/// The files that a command is about.
struct NameArguments: ParsableArguments {
    @Argument(help: ArgumentHelp(FileNaming.help, valueName: "file"), completion: .file())
    var names: [String] = []

    func validate() throws {
        // An unset variable of a shell must not mean the folder that one happens to be in.
        if names.contains("") { throw ValidationError("A name is empty. Write . for the files of the current folder.") }
    }

    /// - Throws: `ValidationError` when there is none.
    func require() throws {
        if names.isEmpty { throw ValidationError("Name the files. \(FileNaming.help)") }
    }

    /// Nil when none is named.
    var naming: FileNaming? { names.isEmpty ? nil : FileNaming(names) }
}

extension DocumentTable {
    /// All that commands find files in: this one, and in the uploader's database the files without a document.
    var all: [DocumentTable] { isOurs ? [self, .withoutDocument] : [self] }
}
