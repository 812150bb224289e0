import ArgumentParser

/// A check before the first run, which creates a database and the folder of a storage.
enum FirstRun {
    /// Ends a first run if none of its originals exists, so that a mistyped path creates nothing.
    ///
    /// - Throws: `ExitCode` after each path was reported. `ValidationError` if no storage was given.
    static func requireAny(
        of paths: [FilePath], _ database: DatabaseOptions, transfer: TransferOptions, output: OutputOptions
    ) throws {
        guard paths.allSatisfy(\.isGone) else { return }
        try reportingErrors(json: output.json) {
            let file = try DatabaseFile(at: database.database)
            guard file.isNew else { return }
            _ = try transfer.storage(for: file)
            let report = try Report(output)
            for path in paths { report.unreadable(path, reason: "No such file or directory") }
            report.summary()
            throw ExitCode(3)
        }
    }
}
