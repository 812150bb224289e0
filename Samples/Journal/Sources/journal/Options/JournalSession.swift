import Foundation
import JournalStorage
import JournalWeb
import LFS
import LFSStorage
import Logging

/// A journal that is open for one command.
enum JournalSession {
    case database(DatabaseStorageService)
    case folder(LocalFileStorageService)

    static func database(
        at path: String, on storage: StorageArgument, _ secrets: SecretsOptions, uploads: Int = 10,
        wrapping wrap: (any RemoteStorage) -> any RemoteStorage = { $0 }
    ) async throws -> JournalSession {
        let database = try await DatabaseStorageService.openDatabase(at: URL(filePath: path))
        let remote = try await storage.open { try await JournalSettings.open(database, secrets: secrets.folder()) }
        var options = LFSOptions(storage: wrap(remote), maxExecutors: uploads)
        options.logger.logLevel = .error
        return .database(try await DatabaseStorageService.open(database, options: options))
    }

    static func folder(_ path: String) -> JournalSession {
        .folder(LocalFileStorageService(folder: URL(filePath: path, directoryHint: .isDirectory)))
    }

    var service: any StreamingFileStorageService {
        switch self {
        case .database(let service): service
        case .folder(let service): service
        }
    }

    /// Runs a command's work while pictures are offloaded, and closes the journal in any case.
    func use<Result>(_ body: (any StreamingFileStorageService) async throws -> Result) async throws -> Result {
        guard case .database(let database) = self else { return try await body(service) }
        return try await database.closing {
            try database.lfs.start()
            return try await body(database)
        }
    }
}

extension DatabaseStorageService {
    /// Closes the journal after the body has returned or thrown. An error of the body takes precedence over one of
    /// closing.
    func closing<Result>(_ body: () async throws -> Result) async throws -> Result {
        let result: Result
        do {
            result = try await body()
        } catch {
            do { try await close() } catch let second { Console.error("Closing failed too: \(second)") }
            throw error
        }
        try await close()
        return result
    }
}
