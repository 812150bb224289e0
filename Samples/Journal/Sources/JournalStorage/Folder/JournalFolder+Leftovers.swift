import Foundation

extension JournalFolder {
    /// Performs a change of several steps. A note contains the record's id until the last step is complete.
    func noting(_ id: UUID, _ body: () throws -> Void) throws {
        do {
            let note = try TemporaryFile(in: try temporaryFolder(), for: id.text)
            do {
                try body()
            } catch {
                // If tidying fails as well, the note is kept, and the next opening tidies the record.
                if (try? tidy(id)) != nil { try note.remove() }
                throw error
            }
            try note.remove()
        } catch let error as SystemFailure {
            throw FileStorageError.fileWriteFailed(name: Self.fileName(id), reason: .init(error))
        }
    }

    /// Removes the leftovers of killed processes: temporary files without a writer, and the unlisted pictures of the
    /// records that their names contain. A file that is being written is locked and is kept.
    func removeLeftovers() throws {
        guard let base = try base(makes: false) else { return }
        do {
            guard let temporary = try base.folder(Self.temporary, makes: false) else { return }
            for name in try temporary.names() {
                guard let purpose = TemporaryFile.purpose(of: name), let file = try temporary.file(name),
                    try file.tryLock()
                else { continue }
                if let id = UUID(text: purpose) { try tidy(id) }
                try temporary.remove(name)
            }
        } catch let error as SystemFailure {
            throw FileStorageError.fileWriteFailed(name: Self.temporary, reason: .init(error))
        }
    }

    /// Removes the pictures of a record that the record does not list, and those in other months than the record. The
    /// pictures of a damaged record are kept, since its list cannot be read.
    func tidy(_ id: UUID) throws {
        let place = try place(of: id, near: .distantPast)
        var named: Set<String> = []
        if let place {
            do {
                named = Set(try record(id, at: place).images)
            } catch FileStorageError.decodingFailed {
                return
            }
        }
        for month in try months() {
            guard let folder = try folder(month, makes: false) else { continue }
            let isHome = month == place?.month
            let extra = try folder.names().filter {
                ImageName($0, of: id) != nil && !(isHome && named.contains($0)) && folder.hasFile($0)
            }
            for name in extra { try folder.remove(name) }
            if !extra.isEmpty { try folder.sync() }
        }
    }
}
