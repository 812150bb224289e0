import Foundation
import GRDB
import LFS
import LFSS3
import LFSStorage

enum S3Guide {
    static func open(_ database: DatabasePool) async throws -> LFSManager {
        // snippet
        let storage = try S3Storage(bucket: "recipes", region: "eu-west-1", credentials: .environment)
        let lfs = try await LFSManager.open(database, options: LFSOptions(storage: storage))
        // end
        return lfs
    }

    static func another() throws -> S3Storage {
        // snippet
        var options = S3Options()
        options.provider = .seaweedFS
        options.certificateAuthorities = "/etc/ssl/our-authority.pem"
        let storage = try S3Storage(
            bucket: "recipes", prefix: "kitchen", endpoint: URL(string: "https://files.example.com"),
            credentials: .profile("kitchen"), options: options)
        // end
        return storage
    }

    static func door(bundle: Data, password: String, doorKey: String) -> S3Options {
        // snippet
        var options = S3Options()
        options.clientCertificate = ClientCertificate(bundle, password: password)
        options.headers = ["X-Door": doorKey]
        // end
        return options
    }

    static func link(_ storage: S3Storage, photo: FileData) async throws -> URL {
        // snippet
        let key = try ObjectKey(photo.key)
        let link = try await storage.downloadURL(for: key, expires: .seconds(600))
        // end
        return link
    }

    static func restore(_ storage: S3Storage, photo: FileData) async throws -> S3Storage.RestoreState {
        // snippet
        let state = try await storage.restore(ObjectKey(photo.key), days: 7, tier: .bulk)
        // end
        return state
    }
}
