import ArgumentParser

/// A check before the first run, which makes a database and the folder of a storage.
enum FirstRun {
    /// Ends a first run of whose originals none exists: with a mistyped path nothing is made.
    ///
    /// - Throws: `ExitCode` after each path was named; `ValidationError` where no storage was given.
    static func requireAny(
        of paths: [FilePath], _ database: DatabaseOptions, _ transfer: TransferOptions, _ output: OutputOptions
    ) throws {
        guard paths.allSatisfy(\.isGone) else { return }
        try reportingErrors(json: output.json) {
            let file = try DatabaseFile(at: database.database)
            guard case .nobody = file.owner else { return }
            _ = try transfer.storage(for: file)
            let report = try Report(output)
            for path in paths { report.unreadable(path, "No such file or directory") }
            report.summary()
            throw ExitCode(3)
        }
    }
}
