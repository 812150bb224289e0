public import Foundation
public import JournalStorage
public import LFSServer
public import Logging

/// The options of the web server.
public struct WebOptions: Sendable {
    /// The certificate and the key for TLS, both as PEM files.
    public struct TLSFiles: Hashable, Sendable {
        /// The path of the certificate chain: the server's certificate and the intermediate certificates.
        public var certificate: String
        /// The path of the private key.
        public var key: String

        /// Creates a pair of paths.
        public init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// The address that the server listens on. By default only this machine can reach it.
    public var address = ListenAddress(host: "127.0.0.1", port: 8080)
    /// The password that is required to see the journal. Nil if everybody who reaches the server may see it.
    public var password: String?
    /// The files for TLS. Nil for plain HTTP.
    public var tls: TLSFiles?
    /// Names by which browsers reach the server, in addition to the listen address.
    public var hostNames: [String] = []
    /// The maximum size of a picture in bytes.
    public var maxPictureByteCount: Int64 = 64 << 20
    /// The storage's name on the page.
    public var storageName = "storage"
    /// The time zone in which days and times are shown.
    public var timeZone = TimeZone.current
    /// The limits on the number and the slowness of connections.
    public var connectionLimits = ConnectionLimits()
    /// The logger of the server. Each line about a request contains its id.
    public var logger = Logger(label: "journal.web")
    /// A closure that returns the reply of `/metrics`. Nil without metrics.
    public var metrics: (@Sendable () -> String)?
    /// The storage whose faults the page "How it works" switches. Nil without switches.
    public var faults: DemoStorage?
    /// A closure that lets another process kill this one and start it again. Nil without that switch.
    public var killDemo: (@Sendable () -> Void)?
    /// The number of times that this process was killed and started again.
    public var restarts = 0
    /// A closure that fills an empty journal with sample records, on request. Nil without that button.
    public var fillDemo: (@Sendable (DatabaseStorageService) async throws -> Void)?

    /// The request with which a page removes the journal from this device. Nil without that form.
    public var removal: RemovalRequest?

    /// Creates options for this machine only, on port 8080.
    public init() {}

    /// Checks that the options do not permit access without authorization.
    ///
    /// - Throws: ``WebError/Code/unsafeOptions`` with a sentence about the remedy.
    public func requireSafe() throws(WebError) {
        if let password, password.utf8.count < 12 {
            throw WebError(.unsafeOptions, message: "The password has to have at least 12 characters.")
        }
        guard !address.isLoopback else { return }
        guard password != nil, tls != nil else {
            throw WebError(
                .unsafeOptions,
                message: """
                    Other machines can reach \(address), so a password and TLS are required. Add --password-file, \
                    --tls-certificate and --tls-key, or listen on 127.0.0.1.
                    """)
        }
    }
}
