public import Foundation
public import Logging

/// Where and for whom the journal is served.
public struct WebOptions: Sendable {
    /// The certificate and the key of a server that speaks TLS, both as PEM files.
    public struct TLSFiles: Hashable, Sendable {
        /// The certificate, and those that lead from it to a known authority.
        public var certificate: String
        /// Its private key.
        public var key: String

        /// The paths of both.
        public init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// Where the server listens: on this machine alone, unless something else is said.
    public var address = ListenAddress(host: "127.0.0.1", port: 8080)
    /// What people have to know to see the journal; nil for everybody who reaches the server.
    public var password: String?
    /// The files for TLS; nil for plain HTTP.
    public var tls: TLSFiles?
    /// Names by which browsers reach the server, besides the one that it listens on.
    public var hostNames: [String] = []
    /// How large a picture may be, in bytes.
    public var maxPictureByteCount: Int64 = 64 << 20
    /// What the page calls the storage.
    public var storageName = "storage"
    /// In whose clocks days and times are told.
    public var timeZone = TimeZone.current
    /// Where the server logs; each line of a request has its id.
    public var logger = Logger(label: "journal.web")
    /// What `/metrics` replies; nil when nothing is measured.
    public var metrics: (@Sendable () -> String)?

    /// For this machine alone, on port 8080.
    public init() {}

    /// Refuses what would let others in.
    ///
    /// - Throws: ``WebError/Code/unsafeOptions`` with a sentence that says what to do.
    public func requireSafe() throws(WebError) {
        if let password, password.utf8.count < 12 {
            throw WebError(.unsafeOptions, "The password has to have at least 12 characters.")
        }
        guard !address.isLoopback else { return }
        guard password != nil, tls != nil else {
            throw WebError(
                .unsafeOptions,
                """
                Others than this machine can reach \(address), so a password and TLS are needed: add --password-file, \
                --tls-certificate and --tls-key, or listen on 127.0.0.1.
                """)
        }
    }
}
