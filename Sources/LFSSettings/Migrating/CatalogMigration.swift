import GRDB
import LFSDatabase

/// Brings the data of catalogs to the versions that this app writes.
struct CatalogMigration: Sendable {
    let catalogs: [StorageCatalog]
    let access: ValueAccess

    /// - Throws: ``SettingsError/Code/newerData`` when one has data of a higher version; nothing is touched then.
    func requireKnown() async throws {
        let catalogs = catalogs
        try await access.runner.read { db in
            for catalog in catalogs {
                guard let stored = try CatalogTable.version(of: catalog.name, db), stored > catalog.version else {
                    continue
                }
                throw SettingsError(
                    .newerData,
                    """
                    The data of the catalog “\(catalog.name)” has version \(stored), and this app knows up to \
                    \(catalog.version): a newer app has written it. Nothing was touched: update the app.
                    """)
            }
        }
    }

    /// Whether there is anything to do.
    func isNeeded() async throws -> Bool {
        let catalogs = catalogs
        return try await access.runner.read { db in
            try catalogs.contains { try CatalogTable.version(of: $0.name, db) != $0.version }
        }
    }

    func run() async throws {
        try await requireKnown()
        for catalog in catalogs { try await run(catalog) }
    }

    private func run(_ catalog: StorageCatalog) async throws {
        let (name, version) = (catalog.name, catalog.version)
        let stored = try await access.runner.read { db in try CatalogTable.version(of: name, db) }
        guard let stored else {
            // The first open: what comes into it is of the present version.
            return try await access.runner.write { db in try CatalogTable.setVersion(version, of: name, db) }
        }
        // A version below 1 is none that an app has: another program has written it.
        var next = max(stored, 1)
        while next < version {
            try await run(catalog.steps.first { $0.version == next }, from: next, of: catalog)
            next += 1
        }
    }

    private func run(_ step: DataStep?, from version: Int, of catalog: StorageCatalog) async throws {
        do { try await step?.effects() } catch { throw Self.failed(catalog, version, error) }
        let isLast = version + 1 == catalog.version
        let beside = isLast ? try await failuresBesideDatabase(of: catalog) : []
        let (access, name) = (access, catalog.name)
        try await access.runner.writeAlone { db in
            // Another process may have been here while the effects ran, where there is no lock between them.
            guard try CatalogTable.version(of: name, db) ?? version == version else { return }
            do {
                try step?.change(SettingsBatch(database: db, access: access.transaction))
            } catch {
                throw Self.failed(catalog, version, error)
            }
            if isLast { try Self.require(beside + Self.failures(of: catalog, access, db), catalog) }
            try CatalogTable.setVersion(version + 1, of: name, db)
        }
    }

    // MARK: Verification

    /// The names of the stored values of the catalog that do not decode, in the database.
    private static func failures(
        of catalog: StorageCatalog, _ access: ValueAccess, _ db: Database
    ) throws -> [String] {
        try SettingTable.names(db).filter { name in
            guard let entry = access.registry.entry(forStored: name), entry.catalog == catalog.name else {
                return false
            }
            let info = entry.info
            guard info.domain.isDatabase, let stored = try SettingTable.read(name, db) else { return false }
            let keys = info.security == .none ? KeySet.none : try access.sealing.ring.keys(db)
            do {
                try info.check(try access.sealing.open(stored, name, info, keys))
                return false
            } catch {
                return info.onUndecodable == .fail
            }
        }
    }

    private func failuresBesideDatabase(of catalog: StorageCatalog) async throws -> [String] {
        var failures: [String] = []
        let infos = catalog.keys.filter { !$0.domain.isDatabase && !$0.isFamily && $0.availability.contains(.here) }
        for info in infos {
            do {
                if let content = try await access.content(info.name, info) { try info.check(content) }
            } catch let error as SettingsError where error.isOfClosedPlace {
                // Not known yet: the version stays below until it is.
                throw error.about(info.publicName)
            } catch {
                if info.onUndecodable == .fail { failures.append(info.publicName) }
            }
        }
        return failures
    }

    private static func require(_ failures: [String], _ catalog: StorageCatalog) throws {
        let names = Set(failures).sorted()
        guard !names.isEmpty else { return }
        throw SettingsError(
            .migrationFailed,
            """
            After the steps to version \(catalog.version) of the catalog “\(catalog.name)” these values do not \
            decode: \(names.joined(separator: ", ")). The last step was taken back: mend it, and open again.
            """)
    }

    private static func failed(_ catalog: StorageCatalog, _ version: Int, _ error: any Error) -> SettingsError {
        SettingsError(
            .migrationFailed,
            """
            The step from version \(version) of the catalog “\(catalog.name)” failed, and was taken back. Mend it, and \
            open again; the steps before it are done.
            """,
            cause: SettingsError.wrapping(error, nil))
    }
}
