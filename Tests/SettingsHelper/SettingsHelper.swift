import Foundation
import GRDB
import LFSSettings

/// One of several processes in the tests of settings, or one that ends in the middle.
///
///     settings-helper increment FOLDER DOMAIN COUNT    adds to the counter so many times
///     settings-helper set FOLDER DOMAIN VALUE          sets the key `first`
///     settings-helper flow FOLDER DOMAIN NAME VALUE    does one thing while Tests/Faults counts its operations
///     settings-helper everything FOLDER synced reset   removes all from all stores, and from the folder of others
///     settings-helper migrate FOLDER DOMAIN KIND       opens with a key that has a migration
///     settings-helper cuts FOLDER COUNT FIFO           sets keys that have to outlive a power cut, so many times, and
///                                                      then waits until somebody writes into the pipe
///     settings-helper steps FOLDER DOMAIN STEP…        does one thing after the other and says how each went
///
/// The database is `app.sqlite` in the folder. It prints `ok`, or the code of the error, and then how many operations
/// Tests/Faults has counted.
@main
enum SettingsHelper {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            try await run(arguments)
            finish("ok")
        } catch let error as SettingsError {
            finish(error.code.rawValue)
        } catch let error as DatabaseError {
            finish("DatabaseError \(error.extendedResultCode.rawValue)")
        } catch {
            finish("untyped \(error)")
        }
    }

    private static func finish(_ word: String) -> Never {
        let (count, fired) = (Faults.count(), Faults.fired())
        FileHandle.standardOutput.write(Data("\(word)\noperations \(count)\nfired \(fired)\n".utf8))
        exit(0)
    }

    private static func run(_ arguments: [String]) async throws {
        guard arguments.count >= 4 else { throw HelperFailure(message: "Too few arguments.") }
        let (folder, domain) = (arguments[1], arguments[2])
        let database = try Self.database(folder)
        switch arguments[0] {
        case "increment":
            let key = try HelperKeys.counter(domain, folder: folder)
            let storage = try await StorageRouter.open(
                database, catalogs: [StorageCatalog("app") { key }], options: HelperKeys.options(folder))
            for _ in 0..<(Int(arguments[3]) ?? 0) { try await storage.update(key) { $0 += 1 } }
        case "set":
            let key = try HelperKeys.first(domain, folder: folder)
            let storage = try await StorageRouter.open(
                database, catalogs: [StorageCatalog("app") { key }], options: HelperKeys.options(folder))
            try await storage.set(arguments[3], for: key)
        case "cuts": try await cuts(database, folder, Int(domain) ?? 0, release: arguments[3])
        case "steps": try await HelperSteps(database, folder, domain).run(Array(arguments.dropFirst(3)))
        case "flow": try await flow(database, folder, domain, arguments[3], arguments.dropFirst(4).first ?? "")
        case "everything":
            var options = HelperKeys.options(folder)
            options.companions = try HelperKeys.companions(domain, folder)
            let keys = try HelperKeys.everywhere(folder: folder)
            let storage = try await StorageRouter.open(
                database, catalogs: [StorageCatalog("app") { keys }], options: options)
            Faults.arm()
            try await storage.removeAll()
            try await storage.synchronize()
        case "migrate":
            let key = try HelperKeys.migrated(domain, arguments[3], folder: folder)
            Faults.arm()
            _ = try await StorageRouter.open(
                database, catalogs: [StorageCatalog("app") { key }],
                options: HelperKeys.options(folder, appVersion: arguments.dropFirst(4).first))
        default: throw HelperFailure(message: "There is no command \(arguments[0]).")
        }
    }

    /// Sets one key after the other to 1, 2, …, says each once it is set, and writes a file beside them that nobody
    /// syncs.
    private static func cuts(_ database: DatabasePool, _ folder: String, _ count: Int, release: String) async throws {
        let keys = try HelperKeys.ofCuts(folder: folder)
        // Where it is killed instead, that may be at any operation from here on.
        Faults.arm()
        let storage = try await StorageRouter.open(
            database, catalogs: [StorageCatalog("app") { keys }], options: HelperKeys.options(folder))
        for number in 0..<count {
            let (key, value) = (keys[number % keys.count], number / keys.count + 1)
            try await storage.set(value, for: key)
            // Foundation would sync it.
            guard let control = fopen(folder + "/control", "w"), fputs(String(number), control) >= 0,
                fclose(control) == 0
            else { throw HelperFailure(message: "The control cannot be written.") }
            FileHandle.standardOutput.write(Data("\(key.name) \(value)\n".utf8))
        }
        _ = try FileHandle(forReadingFrom: URL(fileURLWithPath: release)).read(upToCount: 1)
    }

    private static func flow(
        _ database: DatabasePool, _ folder: String, _ domain: String, _ name: String, _ value: String
    ) async throws {
        let (first, second) = (
            try HelperKeys.first(domain, folder: folder), try HelperKeys.second(domain, folder: folder)
        )
        let catalog = StorageCatalog("app") {
            first
            second
        }
        var options = HelperKeys.options(folder)
        options.companions = try HelperKeys.companions(domain, folder)
        if name == "open" { Faults.arm() }
        let storage = try await StorageRouter.open(database, catalogs: [catalog], options: options)
        if name == "synchronize" { try await storage.set(value, for: first) }
        Faults.arm()
        switch name {
        case "open": return
        case "get": _ = try await storage.get(first)
        case "set": try await storage.set(value, for: first)
        case "remove": try await storage.remove(first)
        case "update": try await storage.update(first) { $0 = value }
        case "batch":
            try await storage.write { batch in
                try batch.set(value, for: first)
                try batch.set(value, for: second)
            }
        case "rotate": try await storage.rotateKeys()
        case "forget": try await storage.forgetRetiredKeys()
        case "reset": try await storage.removeAll()
        case "synchronize": try await storage.synchronize()
        default: throw HelperFailure(message: "There is no flow \(name).")
        }
    }

    static func database(_ folder: String) throws -> DatabasePool {
        var configuration = Configuration()
        let hasDefaultMode = ProcessInfo.processInfo.environment["HELPER_BUSY_MODE"] == "default"
        if !hasDefaultMode { configuration.busyMode = .timeout(600) }
        let database = try DatabasePool(path: folder + "/app.sqlite", configuration: configuration)
        // The test has migrated it. Migrations come before LFS, so nothing lets them wait.
        if hasDefaultMode { return database }
        var migrator = DatabaseMigrator()
        migrator.registerLFSSettingsMigrations()
        try migrator.migrate(database)
        return database
    }
}
