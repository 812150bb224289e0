import ArgumentParser
import GRDB
import LFS

/// The files that a command is about.
struct NameArguments: ParsableArguments {
    @Argument(help: ArgumentHelp(FileNaming.help, valueName: "file"))
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

    /// The files that some names mean, each once, and the names that mean none.
    ///
    /// - Throws: the database's error.
    func files(_ naming: FileNaming, _ db: Database) throws -> (files: [NamedFile], refusals: [FileNaming.Refusal]) {
        let named = try naming.resolve(all, db)
        var files: [NamedFile] = []
        for (table, keys) in zip(all, named.keys) {
            let keys = Set(keys)
            try table.forEachName(db) { name in
                if keys.contains(name.key) { files.append(NamedFile(name, isDocument: table.isOurs)) }
            }
        }
        return (files, named.refusals)
    }
}

/// A file that a person has named.
struct NamedFile: Sendable {
    /// Of the document where there is one, else of the file.
    let key: DatabaseValue
    let isDocument: Bool
    let fileKey: DatabaseValue
    let fileID: String
    let path: FilePath

    init(_ name: DocumentTable.Name, isDocument: Bool) {
        (key, fileKey, fileID, self.isDocument) = (name.key, name.fileKey, name.fileID, isDocument)
        path = name.path ?? FilePath(name.fileID)
    }
}
