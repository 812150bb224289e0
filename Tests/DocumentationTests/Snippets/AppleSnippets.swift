import Foundation
import GRDB
import LFS

struct FrozenApp {
    let lfs: LFSManager

    // snippet
    func appLeftTheScreen() async throws {
        // On iOS, begin a background task of UIApplication here, and end it afterwards.
        try await lfs.suspend(finishingWithin: .seconds(5))
        NotificationCenter.default.post(name: Database.suspendNotification, object: nil)
    }

    func appBecameActive() async throws {
        NotificationCenter.default.post(name: Database.resumeNotification, object: nil)
        try await lfs.resumeFromSuspension()
    }
    // end
}

enum AppleApps {
    static func launch(_ database: DatabasePool, options: LFSOptions, isInBackground: Bool) async throws -> LFSManager {
        // snippet
        let lfs = try await LFSManager.open(database, options: options)
        if isInBackground { try await lfs.suspend() }
        try lfs.start()
        // end
        return lfs
    }

    enum ShareExtension {
        // snippet
        static func save(_ photo: Data, to database: DatabasePool, options: LFSOptions) async throws {
            let lfs = try await LFSManager.open(database, options: options)
            do {
                try await lfs.withFile(from: .bytes(photo)) { file in
                    try await database.write { db in try file.insert(db) }
                }
                try await lfs.stop()
            } catch {
                try await lfs.stop()
                throw error
            }
        }
        // end
    }
}
