import Foundation

extension JournalFolder {
    /// Does what takes several steps, with a note that names the record until the last one is through.
    func noting(_ id: UUID, _ body: () throws -> Void) throws {
        do {
            let note = try TemporaryFile(in: try temporaryFolder(), for: id.text)
            do {
                try body()
            } catch {
                // What cannot be tidied either waits for the next opening, for which the note stays.
                if (try? tidy(id)) != nil { try note.remove() }
                throw error
            }
            try note.remove()
        } catch let error as SystemFailure {
            throw FileStorageError.fileWriteFailed(name: Self.fileName(id), reason: error.sentence)
        }
    }

    /// Removes what processes have left that were killed: temporary files that nobody writes, and of the records that
    /// they name the pictures that these do not. What somebody writes right now is locked, and stays.
    func removeLeftovers() throws {
        guard let base = try base(makes: false) else { return }
        do {
            guard let temporary = try base.folder(Self.temporary, makes: false) else { return }
            for name in try temporary.names() {
                guard let purpose = TemporaryFile.purpose(of: name), let file = try temporary.file(name),
                    file.tryLock()
                else { continue }
                if let id = UUID(text: purpose) { try tidy(id) }
                try temporary.remove(name)
            }
        } catch let error as SystemFailure {
            throw FileStorageError.fileWriteFailed(name: Self.temporary, reason: error.sentence)
        }
    }

    /// Removes the pictures of a record that it does not name, and those beside which it is not. Of a damaged record
    /// none, for nobody knows which they are.
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
