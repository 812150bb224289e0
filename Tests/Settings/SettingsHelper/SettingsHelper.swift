import Foundation
import GRDB
import LFSSettings

/// The helper process of the settings tests, which runs several times at once or is killed.
///
///     settings-helper increment FOLDER DOMAIN COUNT    increments the counter COUNT times
///     settings-helper set FOLDER DOMAIN VALUE          sets the key `first`
///     settings-helper flow FOLDER DOMAIN NAME VALUE    runs one operation while Tests/Faults counts file operations
///     settings-helper everything FOLDER synced reset   removes everything from all stores and the shared folder
///     settings-helper migrate FOLDER DOMAIN KIND       opens with a key that has a migration
///     settings-helper cuts FOLDER COUNT FIFO           sets COUNT values that must survive a power cut, and then
///                                                      waits until the pipe is written
///     settings-helper steps FOLDER DOMAIN STEP…        runs steps and prints the result of each
///
/// The database is `app.sqlite` in the folder. The process prints `ok` or an error code, and then the number of
/// operations that Tests/Faults has counted.
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
        case "cuts": try await cuts(database, folder: folder, count: Int(domain) ?? 0, release: arguments[3])
        case "steps": try await HelperSteps(database, folder: folder, domain: domain).run(Array(arguments.dropFirst(3)))
        case "flow":
            try await flow(
                database, folder: folder, domain: domain, name: arguments[3], value: arguments.dropFirst(4).first ?? "")
        case "everything":
            var options = HelperKeys.options(folder)
            options.companions = try HelperKeys.companions(domain, folder: folder)
            let keys = try HelperKeys.everywhere(folder: folder)
            let storage = try await StorageRouter.open(
                database, catalogs: [StorageCatalog("app") { keys }], options: options)
            Faults.arm()
            try await storage.removeAll()
            try await storage.synchronize()
        case "migrate":
            let key = try HelperKeys.migrated(domain, kind: arguments[3], folder: folder)
            Faults.arm()
            _ = try await StorageRouter.open(
                database, catalogs: [StorageCatalog("app") { key }],
                options: HelperKeys.options(folder, appVersion: arguments.dropFirst(4).first))
        default: throw HelperFailure(message: "There is no command \(arguments[0]).")
        }
    }

    /// Sets the keys in turn to 1, 2 and so on, prints each one after it is set, and writes a control file without
    /// syncing it.
    private static func cuts(_ database: DatabasePool, folder: String, count: Int, release: String) async throws {
        let keys = try HelperKeys.ofCuts(folder: folder)
        // A kill may happen at any later operation.
        Faults.arm()
        let storage = try await StorageRouter.open(
            database, catalogs: [StorageCatalog("app") { keys }], options: HelperKeys.options(folder))
        for number in 0..<count {
            let (key, value) = (keys[number % keys.count], number / keys.count + 1)
            try await storage.set(value, for: key)
            // Foundation would sync the file.
            guard let control = fopen(folder + "/control", "w"), fputs(String(number), control) >= 0,
                fclose(control) == 0
            else { throw HelperFailure(message: "The control cannot be written.") }
            FileHandle.standardOutput.write(Data("\(key.name) \(value)\n".utf8))
        }
        _ = try FileHandle(forReadingFrom: URL(fileURLWithPath: release)).read(upToCount: 1)
    }

    private static func flow(
        _ database: DatabasePool, folder: String, domain: String, name: String, value: String
    ) async throws {
        let (first, second) = (
            try HelperKeys.first(domain, folder: folder), try HelperKeys.second(domain, folder: folder)
        )
        let catalog = StorageCatalog("app") {
            first
            second
        }
        var options = HelperKeys.options(folder)
        options.companions = try HelperKeys.companions(domain, folder: folder)
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
        // The test has migrated the database. Migrations run before LFS opens, so with the default busy mode they would
        // fail instead of waiting.
        if hasDefaultMode { return database }
        var migrator = DatabaseMigrator()
        migrator.registerLFSSettingsMigrations()
        try migrator.migrate(database)
        return database
    }
}
