import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

/// Checks for files and objects without a row, quarantined bytes and failed deletions.
extension Verifier {
    // MARK: Remote

    /// - Parameter objects: the objects of this database's own namespace that no scanned row has.
    mutating func checkOrphans(_ objects: [RemoteObject], age: Orphans.Age) async throws {
        let old = objects.compactMap { object -> (id: FileID, object: RemoteObject)? in
            guard let id = namespace.id(inKey: object.key.rawValue), age.isPast(id) else { return nil }
            return (id, object)
        }
        var orphaned = Set(try await orphans.among(old.map(\.id)))
        let used = try await orphans.used(old.filter { orphaned.contains($0.id) }.map(\.object.key))
        for (id, object) in old where used.contains(object.key.rawValue) { orphaned.remove(id) }
        for (id, object) in old where orphaned.contains(id) {
            // The object was deleted after it was listed. Its tombstone may be gone too, so it looked like an orphan.
            guard let found = try await present(object.key), try await !orphans.among([id]).isEmpty else {
                continue
            }
            var finding = VerifyFinding(
                kind: .orphanedRemotely, fileID: id, key: object.key.rawValue,
                message: "The storage has an object of this database that belongs to no row.")
            finding.found = .init(byteCount: found.byteCount, sha256: found.sha256)
            try await tellOrphan(finding) { try await $0.repairer.remove($1, age: age) }
        }
    }

    /// Reports an orphan, and removes it only if the options permit that. A missing row proves nothing, because a
    /// backup may have been restored with its folder, or a copy of the database on another machine may be in use. So
    /// only a person can decide.
    private mutating func tellOrphan(
        _ orphan: VerifyFinding, _ removal: (Verifier, VerifyFinding) async throws -> VerifyFinding.Outcome
    ) async throws {
        var finding = orphan
        finding.message +=
            " Another copy of this database may have its row:"
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
                try await checkOrphan(entry.id, age: age, isStore: isStore)
            }
        }
    }

    private mutating func checkOrphan(_ id: FileID, age: Orphans.Age, isStore: Bool) async throws {
        let places = places
        let status = try await BlockingPool.shared.run { _ in
            try places.store.requireUnchanged()
            return try places.status(of: id, isStore: isStore)
        }
        // The file was removed, or its row was inserted, during the scan.
        guard let status, try await !orphans.among([id]).isEmpty else { return }
        var finding = VerifyFinding(
            kind: .orphanedLocally, fileID: id, key: namespace.key(of: id),
            message: isStore
                ? "The local store has a file without a row."
                : """
                A file was made and never inserted. The next opening removes it if no other process has the \
                database open.
                """
        )
        finding.found = .init(byteCount: status.byteCount)
        // The process that made a staged file may still insert it. Only the holder of the exclusive open lock may
        // remove it.
        guard isStore else { return try await tell(finding) { _, _ in .found } }
        try await tellOrphan(finding) { try await $0.repairer.remove($1, age: age) }
    }

    // MARK: Quarantine

    mutating func checkQuarantine() async throws {
        let store = store
        let age = try await orphans.age(options.localGracePeriod, now: wallClock())
        let quarantined = try await BlockingPool.shared.run { _ in try store.quarantined() }
        for file in quarantined {
            // A reader may be repairing the file right now. Its bytes are in quarantine until the correct ones are on
            // this device.
            let turns = repairer.turns
            guard let seen = try await turns.withTurn(file.id, { try await look(at: file, age) }) else { continue }
            let (finding, row) = seen
            // Another program made the contents of a folder, so only a person can decide whether to delete it.
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

    /// Examines the quarantined bytes of one file and its row. Nil when there is nothing to report.
    private func look(
        at file: LocalStore.Quarantined, _ age: Orphans.Age
    ) async throws -> (finding: VerifyFinding, row: FileRow?)? {
        let store = store
        guard try await BlockingPool.shared.run({ _ in try store.isQuarantined(file.name) }) else { return nil }
        let isKnown = try await orphans.among([file.id]).isEmpty
        let row = try await runner.read { db in try FileTable.state(of: file.id, db) }?.file
        // A tombstone removes the bytes too. An orphan must be old enough, as everywhere.
        if row == nil, isKnown || !(age.isPast(file.id) || file.isDirectory) { return nil }
        let place = store.quarantinePath(of: file.name)
        var finding = VerifyFinding(
            kind: .quarantined, fileID: file.id, key: row?.key ?? namespace.key(of: file.id),
            message: file.isDirectory
                ? "A folder with its name was moved to \(place)." : "Damaged bytes are in \(place).")
        finding.recorded = row.map { .init(byteCount: $0.byteCount, sha256: $0.sha256) }
        finding.isKnown = row != nil
        if file.isDirectory { return (finding, row) }
        finding.found = .init(byteCount: file.byteCount)
        if let row { try await compare(&finding, name: file.name, file: row) }
        return (finding, row)
    }

    /// Adds to the finding what the quarantined bytes are. Damaged bytes from an interrupted repair are removed when
    /// the correct ones are in the store. Otherwise they may be the only bytes. A disk that returned wrong bytes, or
    /// none, may return the correct ones later, so each verification reads them again.
    private func compare(_ finding: inout VerifyFinding, name: String, file: FileRow) async throws {
        let store = store
        if try await BlockingPool.shared.run({ flag in try store.hasRightBytes(of: file, flag) }) {
            finding.message += " The correct ones are in their place."
            finding.repair = .discard
            return
        }
        switch try await readQuarantined(name, file: file) {
        case .right:
            finding.message = "Its correct bytes are in \(store.quarantinePath(of: name))."
            finding.repair = .putBack
            finding.isKnown = false
        case .wrong: return
        case .unreadable(let error):
            finding.message = """
                Its bytes in \(store.quarantinePath(of: name)) cannot be read (\(error.reason)). They may be correct: \
                verify again.
                """
        }
    }

    private func readQuarantined(_ name: String, file: FileRow) async throws -> LocalContent {
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
                        ? "Its deletion is scheduled too far in the future. Was the clock set back?"
                        : "It cannot be deleted: \(deletion.reason ?? "for an unknown reason")")
                finding.repair = .retry
                try await tell(finding) { try await $0.repairer.retryDeletion(of: $1) }
            }
            return true
        }
    }
}

extension FileLocations {
    /// Returns the status of the file with an id in the store, or in a staging area.
    fileprivate func status(of id: FileID, isStore: Bool) throws -> FileStatus? {
        if isStore { return try store.status(of: id) }
        for area in areas {
            if let status = try area.directory.status(of: id.text) { return status }
        }
        return nil
    }
}
