import Foundation
import Logging
import NIOCore
import NIOSSL
import Synchronization

/// The certificate chain of the server and its key. They can be replaced while the server runs. New connections then
/// receive the new ones, and open connections stay as they are.
///
/// The mutex owns the current pair.
final class ServerCertificate: Sendable {
    private struct Pair {
        let chain: [NIOSSLCertificate]
        let key: NIOSSLPrivateKey

        /// - Throws: the error of the library, also if the key belongs to another certificate.
        init(_ chain: Data, key: Data) throws {
            self.chain = try NIOSSLCertificate.fromPEMBytes([UInt8](chain))
            self.key = try NIOSSLPrivateKey(bytes: [UInt8](key), format: .pem)
            _ = try NIOSSLContext(configuration: configuration)
        }

        var configuration: TLSConfiguration {
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
            configuration.minimumTLSVersion = .tlsv12
            return configuration
        }
    }

    private let current: Mutex<Pair>

    /// - Parameters:
    ///   - chain: the certificates in PEM, the one of the server first.
    ///   - key: the private key in PEM.
    init(_ chain: Data, key: Data) throws { current = Mutex(try Pair(chain, key: key)) }

    /// Replaces the certificate and the key.
    ///
    /// - Throws: the error of the library. The previous pair then stays in use.
    func replace(with chain: Data, key: Data) throws {
        let pair = try Pair(chain, key: key)
        current.withLock { $0 = pair }
    }

    /// The time after which clients refuse the certificate.
    var expiry: Date? {
        current.withLock { $0.chain.map(\.notValidAfter).min() }.map { Date(timeIntervalSince1970: Double($0)) }
    }

    /// Logs an error if the certificate has expired. No health check fails, because a balancer in front may not verify
    /// the certificate.
    func reportExpiry(to logger: Logger) {
        guard let expiry, expiry <= Date() else { return }
        logger.error(
            "The certificate has expired, so clients refuse it. Replace the files of --certificate and --key.",
            metadata: ["expiry": "\(expiry.formatted(.iso8601))"])
    }

    /// The configuration of connections. Each handshake uses the current pair.
    var configuration: TLSConfiguration {
        var configuration = current.withLock(\.configuration)
        // A handshake adds its chain to the one of the configuration, but replaces the first certificate.
        configuration.certificateChain = Array(configuration.certificateChain.prefix(1))
        configuration.sslContextCallback = { [self] _, promise in
            let pair = current.withLock { $0 }
            var change = NIOSSLContextConfigurationOverride()
            change.certificateChain = pair.chain.map { .certificate($0) }
            change.privateKey = .privateKey(pair.key)
            promise.succeed(change)
        }
        return configuration
    }
}
