import Foundation
public import LFSSettings
public import LFSStorage

/// The credentials of a bucket.
public struct StorageCredentials: Hashable, Codable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The id of the access key, which is not secret.
    public let accessKeyID: String
    /// The secret access key.
    public let secretAccessKey: String
    /// The session token of temporary credentials.
    public let sessionToken: String?

    /// Creates credentials.
    ///
    /// - Returns: The credentials, or nil if a text is empty, too long, or has characters that keys never have.
    public init?(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil) {
        let texts = [accessKeyID, secretAccessKey] + (sessionToken.map { [$0] } ?? [])
        guard
            texts.allSatisfy({
                (1...2_048).contains($0.utf8.count) && $0.utf8.allSatisfy { (0x21...0x7e).contains($0) }
            })
        else { return nil }
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
    }

    /// A text without the credentials.
    public var description: String { "credentials of a bucket" }
    /// An empty mirror, so that a dump does not show the credentials.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// The credentials as environment variables of the AWS tools.
    public var variables: [String: String] {
        var variables = ["AWS_ACCESS_KEY_ID": accessKeyID, "AWS_SECRET_ACCESS_KEY": secretAccessKey]
        variables["AWS_SESSION_TOKEN"] = sessionToken
        return variables
    }
}

extension StorageKey<StorageCredentials> {
    /// The credentials of the bucket that pictures are offloaded to.
    public static var storageCredentials: Self { .init("storage.credentials", domain: .keychain()) }
}

extension StorageKey<ClientCertificate> {
    /// The certificate for a bucket and a sync server that require one of their clients. A key chain takes values of up
    /// to 4 KiB.
    public static var clientCertificate: Self {
        .init("connection.clientCertificate", domain: .keychain(), serializer: .certificate)
    }
}

extension SettingSerializer<ClientCertificate> {
    /// A serializer that stores the password, a zero byte and the bytes of the certificate, which JSON would make a
    /// third longer.
    fileprivate static var certificate: Self {
        .custom(
            id: "journal.certificate",
            encode: { value in Data((value.password ?? "").utf8) + [0] + value.data },
            decode: { bytes in
                guard let end = bytes.firstIndex(of: 0) else { throw CocoaError(.coderReadCorrupt) }
                let password = String(decoding: bytes[..<end], as: UTF8.self)
                return ClientCertificate(Data(bytes[(end + 1)...]), password: password.isEmpty ? nil : password)
            })
    }
}

extension StorageKey<Data> {
    /// The key that signs the cookies of browsers: 32 bytes. Empty before the first start.
    static var sessionSecret: Self {
        .init("web.sessionSecret", default: Data(), domain: .keychain(), serializer: .data)
    }
}

extension StorageKey<[String: Int]> {
    /// The ids of ended sessions, with the times at which they would have expired, in seconds since 1970.
    static var endedSessions: Self { .init("web.endedSessions", default: [:]) }
}

extension StorageKey<Bool> {
    /// Indicates that a log out has not removed the secrets yet.
    static var hasSecretsToRemove: Self { .init("web.hasSecretsToRemove", default: false) }
}

/// The secrets of a journal.
enum JournalSecrets {
    /// Removes all secrets of a journal if a log out has not removed them yet. A journal without secrets gets no folder
    /// for them.
    ///
    /// - Throws: `SettingsError`. The next opening of the settings tries again.
    static func finishRemoval(_ settings: StorageRouter) async throws {
        guard try await settings.get(.hasSecretsToRemove) else { return }
        try await remove(.accessToken, from: settings)
        try await remove(.storageCredentials, from: settings)
        try await remove(.clientCertificate, from: settings)
        try await remove(.sessionSecret, from: settings)
        try await settings.remove(.hasSecretsToRemove)
    }

    private static func remove<Value>(_ key: StorageKey<Value>, from settings: StorageRouter) async throws {
        if try await settings.exists(key) { try await settings.remove(key) }
    }
}
