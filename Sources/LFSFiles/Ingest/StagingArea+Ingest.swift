package import LFSSystem

extension StagingArea {
    /// Makes the bytes of a source durable under a new id.
    ///
    /// - Parameters:
    ///   - flag: ends it early, as the cancellation of the task does. A source of chunks is ended by its task alone.
    ///   - onProgress: takes the number of bytes that are in so far.
    /// - Throws: ``FileError``; nothing is left in the area then.
    package func ingest(
        _ source: IngestSource, as id: FileID, watching flag: CancellationFlag = CancellationFlag(),
        onProgress: @escaping @Sendable (Int64) -> Void = { _ in }
    ) async throws -> IngestedFile {
        do {
            return try await Ingest(area: self, id: id, flag: flag, onProgress: onProgress).run(source)
        } catch {
            throw FileError.keeping(error, at: path)
        }
    }

    func writer(for id: FileID, _ onProgress: @escaping @Sendable (Int64) -> Void) async throws -> IngestWriter {
        try await BlockingPool.shared.run { _ in
            try IngestWriter(id.text, in: self.directory, onProgress: onProgress)
        }
    }

    func adopt(_ source: String, as id: FileID) throws(SystemError) { try directory.take(source, as: id.text) }

    /// Puts a file back under its caller's name, unless something else has that by now.
    ///
    /// - Throws: a `SystemError` with `isExisting` then.
    func giveBack(_ id: FileID, to source: String) throws(SystemError) {
        let slash = source.lastIndex(of: "/")
        let parent = slash.map { $0 == source.startIndex ? "/" : String(source[..<$0]) } ?? "."
        let name = slash.map { String(source[source.index(after: $0)...]) } ?? source
        try directory.renameExclusively(id.text, to: Directory.open(parent), as: name)
    }

    /// Renames a file that could not be given back to its caller so that no sweep removes it. Returns its path.
    func keep(_ id: FileID) throws(SystemError) -> String {
        let name = id.text + ".kept"
        try directory.rename(id.text, to: directory, as: name)
        return directory.child(name)
    }

    func removeSource(_ source: String) throws(SystemError) { try PathCalls.remove(source) }
}
