import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

/// Files and objects that no row knows, and what does not come to an end.
extension Verifier {
    // MARK: Remote

    /// - Parameter objects: those of this database's own namespace that the rows beside them did not have.
    mutating func checkOrphans(_ objects: [RemoteObject], _ age: Orphans.Age) async throws {
        let old = objects.compactMap { object -> (id: FileID, object: RemoteObject)? in
            guard let id = namespace.id(inKey: object.key.rawValue), age.isPast(id) else { return nil }
            return (id, object)
        }
        var orphaned = Set(try await orphans.among(old.map(\.id)))
        let used = try await orphans.used(old.filter { orphaned.contains($0.id) }.map(\.object.key))
        for (id, object) in old where used.contains(object.key.rawValue) { orphaned.remove(id) }
        for (id, object) in old where orphaned.contains(id) {
            // Deleted since it was listed, perhaps with its tombstone, which explains why it looked like an orphan.
            guard let found = try await present(object.key), try await !orphans.among([id]).isEmpty else {
                continue
            }
            var finding = VerifyFinding(
                kind: .orphanedRemotely, fileID: id, key: object.key.rawValue,
                message: "The storage has an object of this database that no row knows.")
            finding.found = .init(byteCount: found.byteCount, sha256: found.sha256)
            try await tellOrphan(finding) { try await $0.repairer.remove($1, age) }
        }
    }

    /// That no row knows a thing proves nothing: a backup may have been put back, with its folder and all that could
    /// show it, and a copy on another machine may be in use. So it goes only when a person says so.
    private mutating func tellOrphan(
        _ orphan: VerifyFinding, _ removal: (Verifier, VerifyFinding) async throws -> VerifyFinding.Outcome
    ) async throws {
        var finding = orphan
        finding.message +=
            " Another copy of this database may know it:"
            + " a newer one, one on another machine, or this one before a reset."
        let isRemovable = options.removesUnknown
        finding.repair = isRemovable ? .remove : nil
        try await tell(finding) { isRemovable ? try await removal($0, $1) : .found }
    }

    private func present(_ key: ObjectKey) async throws -> RemoteObject? {
        do {
            return try await storage.head(key)
        } catch let error as StorageError where error.isMissing {
            return nil
        }
    }

    // MARK: Local

    mutating func checkStore() async throws {
        let age = try await orphans.age(options.localGracePeriod, now: wallClock())
        let store = store
        try await checkFolder(age, isStore: true) { try store.files() }
        let stagedAge = try await orphans.age(max(options.localGracePeriod, stagingGracePeriod), now: wallClock())
        for area in places.areas { try await checkFolder(stagedAge, isStore: false) { try area.files() } }
    }

    private mutating func checkFolder(
        _ age: Orphans.Age, isStore: Bool, _ files: @escaping @Sendable () throws -> FileCursor
    ) async throws {
        let cursor = try await BlockingPool.shared.run { _ in try files() }
        try await cursor.forEachPage { page in
            let orphaned = Set(try await orphans.among(page.filter(age.isPast).map(\.id)))
            for entry in page where orphaned.contains(entry.id) {
                try await checkOrphan(entry.id, age, isStore: isStore)
            }
        }
    }

    private mutating func checkOrphan(_ id: FileID, _ age: Orphans.Age, isStore: Bool) async throws {
        let places = places
        let status = try await BlockingPool.shared.run { _ in
            try places.store.requireUnchanged()
            return try places.status(of: id, isStore: isStore)
        }
        // Removed or inserted since.
        guard let status, try await !orphans.among([id]).isEmpty else { return }
        var finding = VerifyFinding(
            kind: .orphanedLocally, fileID: id, key: namespace.key(of: id),
            message: isStore
                ? "The local store has a file that no row knows."
                : """
                A file was made and never inserted. The next opening removes it when nobody else has the database \
                open.
                """
        )
        finding.found = .init(byteCount: status.byteCount)
        // The process that made a staged file may still insert it: only the holder of the exclusive open lock may
        // remove it.
        guard isStore else { return try await tell(finding) { _, _ in .found } }
        try await tellOrphan(finding) { try await $0.repairer.remove($1, age) }
    }

    // MARK: Quarantine

    mutating func checkQuarantine() async throws {
        let store = store
        let age = try await orphans.age(options.localGracePeriod, now: wallClock())
        let quarantined = try await BlockingPool.shared.run { _ in try store.quarantined() }
        for file in quarantined {
            // A reader may be mending the file right now, with its bytes aside until the right ones are here.
            let turns = repairer.turns
            guard let seen = try await turns.withTurn(file.id, { try await look(at: file, age) }) else { continue }
            let (finding, row) = seen
            // Somebody else has made what is in a folder, so only a person can say whether it may go.
            if file.isDirectory {
                try await tell(finding) { _, _ in .found }
            } else if let row {
                try await tell(finding) { verifier, finding in
                    switch finding.repair {
                    case .discard: try await verifier.repairer.discardQuarantined(of: row)
                    case .putBack: try await verifier.repairer.putBack(row, from: file.name)
                    default: .found
                    }
                }
            } else {
                try await tellOrphan(finding) { try await $0.repairer.removeQuarantined(of: $1) }
            }
        }
    }

    /// Looks at what is in quarantine of one file, and at its row; nil when there is nothing to be told.
    private func look(
        at file: LocalStore.Quarantined, _ age: Orphans.Age
    ) async throws -> (finding: VerifyFinding, row: FileRow?)? {
        let store = store
        guard try await BlockingPool.shared.run({ _ in try store.isQuarantined(file.name) }) else { return nil }
        let isKnown = try await orphans.among([file.id]).isEmpty
        let row = try await runner.read { db in try FileTable.state(of: file.id, db) }?.file
        // A tombstone takes it along, and an orphan has to be old here as anywhere.
        if row == nil, isKnown || !(age.isPast(file.id) || file.isDirectory) { return nil }
        let place = store.quarantinePath(of: file.name)
        var finding = VerifyFinding(
            kind: .quarantined, fileID: file.id, key: row?.key ?? namespace.key(of: file.id),
            message: file.isDirectory
                ? "A folder that stood in its place is in \(place)." : "Damaged bytes are in \(place).")
        finding.recorded = row.map { .init(byteCount: $0.byteCount, sha256: $0.sha256) }
        finding.isKnown = row != nil
        if file.isDirectory { return (finding, row) }
        finding.found = .init(byteCount: file.byteCount)
        if let row { try await compare(&finding, file.name, row) }
        return (finding, row)
    }

    /// Damaged bytes that a mend has left which was cut go when the right ones are here; others may be all that is
    /// left. A disk that gave wrong bytes, or none, may give the right ones later: each verification looks again.
    private func compare(_ finding: inout VerifyFinding, _ name: String, _ file: FileRow) async throws {
        let store = store
        if try await BlockingPool.shared.run({ flag in try store.hasRightBytes(of: file, flag) }) {
            finding.message += " Right ones are in their place."
            finding.repair = .discard
            return
        }
        switch try await readQuarantined(name, file) {
        case .right:
            finding.message = "Its right bytes are in \(store.quarantinePath(of: name))."
            finding.repair = .putBack
            finding.isKnown = false
        case .wrong: return
        case .unreadable(let error):
            finding.message = """
                Its bytes in \(store.quarantinePath(of: name)) cannot be read (\(error.reason)). They may be right: \
                verify again.
                """
        }
    }

    private func readQuarantined(_ name: String, _ file: FileRow) async throws -> LocalContent {
        let store = store
        let first = try await BlockingPool.shared.run { flag in
            try store.content(inQuarantine: name, of: file, flag)
        }
        guard case .unreadable = first else { return first }
        try await repairer.clock.sleep(for: SecondReading.pause)
        return try await BlockingPool.shared.run { flag in try store.content(inQuarantine: name, of: file, flag) }
    }

    // MARK: Deletions

    mutating func checkDeletions() async throws {
        let late = now + longestBackoff.milliseconds
        try await runner.forEachPage { db, last in
            try TombstoneTable.stuck(after: last, late: late, limit: 500, db)
        } _: { rows in
            for row in rows {
                if let problem = row.problem { try await tell(unreadable: problem) }
                guard let deletion = row.readable else { continue }
                var finding = VerifyFinding(
                    kind: .deletionStuck, fileID: deletion.fileID, key: deletion.key,
                    message: deletion.notBefore > furthest
                        ? "Its deletion is put off too far: was the clock set back?"
                        : "It cannot be deleted: \(deletion.reason ?? "for an unknown reason")")
                finding.repair = .retry
                try await tell(finding) { try await $0.repairer.retryDeletion(of: $1) }
            }
            return true
        }
    }
}

extension FilePlaces {
    /// What the store, or else a staging area, has under an id.
    fileprivate func status(of id: FileID, isStore: Bool) throws -> FileStatus? {
        if isStore { return try store.status(of: id) }
        for area in areas {
            if let status = try area.directory.status(of: id.text) { return status }
        }
        return nil
    }
}
