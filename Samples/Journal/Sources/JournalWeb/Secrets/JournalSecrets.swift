public import Foundation
public import LFSSettings

/// The keys to a bucket.
public struct StorageCredentials: Hashable, Codable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The public half.
    public let accessKeyID: String
    /// The secret half.
    public let secretAccessKey: String
    /// What temporary ones have besides.
    public let sessionToken: String?

    /// Keys.
    ///
    /// - Returns: nil for what is empty, too long for a key, or has characters that no key has.
    public init?(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil) {
        let texts = [accessKeyID, secretAccessKey] + (sessionToken.map { [$0] } ?? [])
        guard
            texts.allSatisfy({
                (1...2_048).contains($0.utf8.count) && $0.utf8.allSatisfy { (0x21...0x7e).contains($0) }
            })
        else { return nil }
        (self.accessKeyID, self.secretAccessKey, self.sessionToken) = (accessKeyID, secretAccessKey, sessionToken)
    }

    /// Nothing of them.
    public var description: String { "keys to a bucket" }
    /// Empty, so that a dump shows nothing of them.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// As the tools of AWS have them in the environment.
    public var variables: [String: String] {
        var variables = ["AWS_ACCESS_KEY_ID": accessKeyID, "AWS_SECRET_ACCESS_KEY": secretAccessKey]
        variables["AWS_SESSION_TOKEN"] = sessionToken
        return variables
    }
}

extension StorageKey<StorageCredentials> {
    /// The keys to the bucket that pictures are offloaded to.
    public static var storageCredentials: Self { .init("storage.credentials", domain: .keychain()) }
}

extension StorageKey<Data> {
    /// What the cookies of browsers are signed with: 32 bytes; empty before the first start.
    static var sessionSecret: Self {
        .init("web.sessionSecret", default: Data(), domain: .keychain(), serializer: .data)
    }
}

extension StorageKey<[String: Int]> {
    /// The ids of sessions that somebody has ended, with the time when they would have ended by themselves, in seconds
    /// since 1970.
    static var endedSessions: Self { .init("web.endedSessions", default: [:]) }
}

/// The secrets of a journal.
enum JournalSecrets {
    /// What nobody else may know, and what belongs to it.
    static let catalog = StorageCatalog("journal.secrets") {
        StorageKey<StorageCredentials>.storageCredentials
        StorageKey<Data>.sessionSecret
        StorageKey<[String: Int]>.endedSessions
    }
}
