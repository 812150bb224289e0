import Foundation
import GRDB
import LFSSettings
import LFSSystem
import TestSupport

/// Steps that a process runs one after another while the key chain changes. Each step prints one line after `> `: the
/// value that it read, `ok`, or the error's code, a colon and its message.
///
///     get, remove, items           operate on the key `first`
///     set=TEXT, update=TEXT        write it
///     many=COUNT                   makes COUNT concurrent reads. Prints each outcome with its count
///     migrated                     reads the key that `secretItem` migrates
///     patience, impatience         use the usual deadline from now on, or again `HELPER_DEADLINE`
///     adopt, keychain              adopts the current key chain. Prints the recorded one
///     install                      prints the id of the database
///     do=COMMAND                   sends a command to Tests/Keyring
///     script=WORDS                 sets the script of its service
final class HelperSteps {
    private let database: DatabasePool
    private var storage: StorageRouter
    private let (patient, impatient): (StorageRouter, StorageRouter)
    private let first: StorageKey<String>
    private let migrated: StorageKey<String>

    init(_ database: DatabasePool, folder: String, domain: String) async throws {
        let first = try HelperKeys.first(domain, folder: folder)
        let migrated = try HelperKeys.migrated(domain, kind: "secretItem", folder: folder)
        self.database = database
        self.first = first
        self.migrated = migrated
        let catalog = StorageCatalog("app") {
            first
            if HelperSteps.keyring != nil { migrated }
        }
        impatient = try await StorageRouter.open(database, catalogs: [catalog], options: HelperKeys.options(folder))
        patient = try await StorageRouter.open(
            database, catalogs: [catalog], options: HelperKeys.options(folder, isPatient: true))
        storage = impatient
    }

    func run(_ steps: [String]) async throws {
        for step in steps {
            let parts = step.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            Self.say(await Self.outcome { try await self.run(parts[0], value: parts.count > 1 ? parts[1] : "") })
        }
    }

    private func run(_ step: String, value: String) async throws -> String {
        switch step {
        case "get": return try await storage.getIfPresent(first) ?? "nothing"
        case "set": try await storage.set(value, for: first)
        case "update": _ = try await storage.update(first) { $0 = value }
        case "remove": try await storage.remove(first)
        case "items":
            return try await storage.audit().entries.map { "\($0.key) \($0.storedCount)" }.joined(separator: ", ")
        case "migrated": return try await storage.getIfPresent(migrated) ?? "nothing"
        case "adopt": try await storage.adoptKeychain()
        case "patience": storage = patient
        case "impatience": storage = impatient
        case "many": return try await many(Int(value) ?? 0)
        case "keychain":
            return try await database.read { db in
                try String.fetchOne(db, sql: "SELECT keychain FROM lfs_setting_state") ?? "nothing"
            }
        case "install":
            return try await database.read { db in
                try FileID.fetchOne(db, sql: "SELECT installID FROM lfs_setting_state")?.text ?? "nothing"
            }
        case "do": try await Self.tell(value)
        case "script":
            try Data(value.utf8).write(to: URL(fileURLWithPath: Self.keyring ?? "").appendingPathComponent("script"))
        default: throw HelperFailure(message: "There is no step \(step).")
        }
        return "ok"
    }

    private func many(_ count: Int) async throws -> String {
        let (storage, first) = (storage, first)
        return await withTaskGroup(of: String.self) { group in
            for _ in 0..<count {
                group.addTask {
                    let said = await Self.outcome { try await storage.getIfPresent(first) ?? "nothing" }
                    return String(said.prefix { $0 != ":" })
                }
            }
            let all = await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
            return all.map { "\($0.value) \($0.key)" }.sorted().joined(separator: ", ")
        }
    }

    private static func outcome(_ body: () async throws -> String) async -> String {
        do { return try await body() } catch let error as SettingsError {
            return "\(error.code): \(error.message)"
        } catch { return "untyped: \(error)" }
    }

    private static var keyring: String? { ProcessInfo.processInfo.environment["LFS_KEYRING"] }

    private static func tell(_ command: String) async throws {
        let session = ProcessInfo.processInfo.environment["LFS_KEYRING_SESSION"] ?? ""
        let status = try await ToolRun(session, arguments: ["do", keyring ?? "", command]).finish()
        guard status == 0 else { throw HelperFailure(message: "The session said \(status) to \(command).") }
    }

    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data("> \(line.replacingOccurrences(of: "\n", with: "\\n"))\n".utf8))
    }
}
