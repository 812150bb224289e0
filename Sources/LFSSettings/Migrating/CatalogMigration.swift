import GRDB
import LFSDatabase

/// Brings the data of catalogs to the versions that this app writes.
struct CatalogMigration: Sendable {
    let catalogs: [StorageCatalog]
    let access: ValueAccess

    /// - Throws: ``SettingsError/Code/newerData`` when one has data of a higher version; nothing is touched then.
    func requireKnown(_ stored: [String: CatalogTable.Versions]) throws {
        for catalog in catalogs {
            guard let version = stored[catalog.name]?.data, version > catalog.version else { continue }
            throw SettingsError(
                .newerData,
                """
                The data of the catalog “\(catalog.name)” has version \(version), and this app knows up to \
                \(catalog.version): a newer app has written it. Nothing was touched: update the app.
                """)
        }
    }

    /// Whether there is anything to do.
    func isNeeded() async throws -> Bool {
        let stored = try await access.runner.read(CatalogTable.versions)
        return catalogs.contains { stored[$0.name]?.data != $0.version }
    }

    /// A catalog that cannot be brought to its version does not keep the others, nor the repair of what is wrong: it is
    /// pending.
    func run(onFailure: (_ catalog: String, SettingsError) -> Void) async throws {
        try requireKnown(try await access.runner.read(CatalogTable.versions))
        for catalog in catalogs {
            do {
                try await run(catalog)
            } catch {
                guard let problem = SettingsError.wrapping(error, nil) as? SettingsError else { throw error }
                access.pending.add(catalog: catalog.name, problem)
                onFailure(catalog.name, problem)
            }
        }
    }

    private func run(_ catalog: StorageCatalog) async throws {
        let (name, version) = (catalog.name, catalog.version)
        let stored = try await access.runner.read { db in try CatalogTable.version(of: name, db) }
        guard let stored else {
            // The first open: what comes into it is of the present version.
            return try await access.runner.write { db in try CatalogTable.setVersion(version, of: name, db) }
        }
        var next = Self.lowest(stored)
        while next < version {
            try await run(catalog.steps.first { $0.version == next }, from: next, of: catalog)
            next += 1
        }
    }

    /// A version below 1 is none that an app has: another program has written it.
    private static func lowest(_ version: Int) -> Int { max(version, 1) }

    private func run(_ step: DataStep?, from version: Int, of catalog: StorageCatalog) async throws {
        do { try await step?.effects() } catch { throw Self.failed(catalog, version, error) }
        let isLast = version + 1 == catalog.version
        let beside = isLast ? try await failuresBesideDatabase(of: catalog) : []
        let (access, name) = (access, catalog.name)
        try await access.runner.writeAlone { db in
            // Another process may have been here while the effects ran, where there is no lock between them.
            guard Self.lowest(try CatalogTable.version(of: name, db) ?? version) == version else { return }
            var transaction = access.transaction
            // Each device takes the step for itself, and whatever was set on one of them counts more.
            transaction.time = .before
            do {
                try step?.change(SettingsBatch(database: db, access: transaction))
            } catch {
                throw Self.failed(catalog, version, error)
            }
            if isLast { try Self.require(beside + Self.failures(of: catalog, access, db), catalog) }
            try CatalogTable.setVersion(version + 1, of: name, db)
        }
    }

    // MARK: Verification

    /// The keys of the stored values of the catalog that cannot be read, in the database.
    private static func failures(
        of catalog: StorageCatalog, _ access: ValueAccess, _ db: Database
    ) throws -> [String] {
        try SettingTable.names(db).compactMap { name in
            guard let entry = access.registry.entry(forStored: name), entry.catalog == catalog.name,
                entry.info.domain.isDatabase
            else { return nil }
            let info = entry.info
            do {
                guard let stored = try SettingTable.read(name, db) else { return nil }
                let keys = info.security == .none ? KeySet.none : try access.sealing.ring.keys(db)
                try info.check(try access.sealing.open(stored, name, info, keys))
                return nil
            } catch let error as DatabaseError {
                throw error
            } catch {
                return info.onUndecodable == .fail ? info.publicName : nil
            }
        }
    }

    private func failuresBesideDatabase(of catalog: StorageCatalog) async throws -> [String] {
        var failures: [String] = []
        let infos = catalog.keys.filter { !$0.domain.isDatabase && $0.availability.contains(.here) }
        for info in infos {
            for name in try await storedNames(of: info) {
                do {
                    if let content = try await access.content(name, info) { try info.check(content) }
                } catch let error as SettingsError where error.isOfClosedPlace {
                    // Not known yet: the version stays below until it is.
                    throw error.about(info.publicName)
                } catch {
                    if info.onUndecodable == .fail { failures.append(info.publicName) }
                }
            }
        }
        return failures
    }

    /// The key's name, or those of the members of a family that are stored.
    private func storedNames(of info: KeyInfo) async throws -> [String] {
        guard info.isFamily else { return [info.name] }
        return try await access.stores.store(for: info.domain).summaries().map(\.name).filter { name in
            access.registry.entry(forStored: name)?.info.name == info.name
        }
    }

    private static func require(_ failures: [String], _ catalog: StorageCatalog) throws {
        let names = Set(failures).sorted()
        guard !names.isEmpty else { return }
        throw SettingsError(
            .migrationFailed,
            """
            After the steps to version \(catalog.version) of the catalog “\(catalog.name)” values of these keys \
            cannot be read: \(names.joined(separator: ", ")). The last step was taken back: mend it, put back what \
            they need, or remove them, and open again.
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
