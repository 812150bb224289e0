package import LFSSystem

extension LocalStore {
    package enum Promotion: Sendable {
        case promoted, alreadyThere, missing
    }

    /// Moves a file from a staging area into the store. Safe to repeat, and for two that try at once.
    ///
    /// No sync is needed: both places follow from the id, so whichever a power cut leaves is found again.
    /// Blocks the thread.
    package func promote(_ id: FileID, from area: StagingArea) throws(SystemError) -> Promotion {
        do {
            try area.directory.setMode(0o400, of: id.text)
            try area.directory.rename(id.text, to: directory, as: id.text)
            return .promoted
        } catch  where error.isMissing {
            return try contains(id) ? .alreadyThere : .missing
        } catch  where error.isOtherFileSystem {
            return try promoteByCopy(id, from: area)
        }
    }

    /// Another file system: the copy is durable under its final name before the original goes.
    private func promoteByCopy(_ id: FileID, from area: StagingArea) throws(SystemError) -> Promotion {
        let source: Descriptor
        do {
            source = try area.directory.openForReading(id.text)
        } catch  where error.isMissing {
            return try contains(id) ? .alreadyThere : .missing
        }
        let name = "\(id.text).\(FileID.make().text)"
        let copy = try incoming.create(name)
        do {
            try Self.copy(source, to: copy)
            try copy.setMode(0o400)
            try copy.synchronize()
            try incoming.rename(name, to: directory, as: id.text)
            try directory.synchronizeNow()
        } catch {
            try incoming.remove(name)
            throw error
        }
        try area.directory.remove(id.text)
        return .promoted
    }

    private static func copy(_ source: Descriptor, to copy: Descriptor) throws(SystemError) {
        do {
            let size = try source.status().byteCount
            try FileCopy.forEachChunk(of: source, 0..<size, CancellationFlag()) { try copy.write($0) }
            let written = try copy.status().byteCount
            guard written == size else { throw SystemError.shortWrite(copy.path) }
        } catch let error as SystemError {
            throw error
        } catch {
            throw SystemError.shortWrite(copy.path)
        }
    }
}
