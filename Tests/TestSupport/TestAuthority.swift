package import Foundation

/// A certificate authority that a test creates with OpenSSL, with a server of 127.0.0.1 and clients. All files are in
/// the test's folder.
package struct TestAuthority: Sendable {
    /// The files of one certificate.
    package struct Identity: Sendable {
        /// The PEM file of the certificate.
        package let certificate: URL
        /// The PEM file of the private key, which is not encrypted.
        package let key: URL

        /// The certificate and the key in one PEM text.
        package var pem: Data {
            get throws { try Data(contentsOf: certificate) + Data(contentsOf: key) }
        }
    }

    /// The forms in which a client can have its certificate and its key.
    package enum Form: String, CaseIterable, Sendable { case plain, encrypted, bundle }

    package let certificate: URL
    private let key: URL
    private let folder: URL
    private let name: String

    package init(_ name: String = "authority", in folder: URL) throws {
        self.folder = folder
        self.name = name
        certificate = folder.appendingPathComponent("\(name).pem")
        key = folder.appendingPathComponent("\(name).key")
        try Self.openssl(
            ["req", "-x509", "-days", "2", "-subj", "/CN=\(name)", "-addext", "basicConstraints=critical,CA:TRUE"]
                + Self.newKey(key) + ["-out", certificate.path])
    }

    /// Creates a certificate of 127.0.0.1.
    ///
    /// - Parameter days: the validity from now. A negative number makes an expired certificate.
    package func identity(_ common: String, days: Int = 2) throws -> Identity {
        func file(_ end: String) -> URL { folder.appendingPathComponent("\(name)-\(common).\(end)") }
        let identity = Identity(certificate: file("pem"), key: file("key"))
        try Self.openssl(
            ["req", "-subj", "/CN=\(common)"] + Self.newKey(identity.key) + ["-out", file("csr").path])
        try Data("subjectAltName=IP:127.0.0.1\n".utf8).write(to: file("ext"))
        try Self.openssl([
            "x509", "-req", "-days", "\(days)", "-in", file("csr").path, "-extfile", file("ext").path, "-CA",
            certificate.path, "-CAkey", key.path, "-CAcreateserial", "-out", identity.certificate.path,
        ])
        return identity
    }

    /// Returns the identity in a form, with a password unless it is plain.
    package static func file(
        of identity: Identity, form: Form, password: String
    ) throws -> (bytes: Data, password: String?) {
        switch form {
        case .plain: (try identity.pem, nil)
        case .encrypted: (try encrypted(identity, password: password), password)
        case .bundle: (try bundle(identity, password: password), password)
        }
    }

    /// Returns the identity as PEM with an encrypted key.
    package static func encrypted(_ identity: Identity, password: String) throws -> Data {
        let file = identity.key.appendingPathExtension("encrypted")
        try openssl([
            "pkey", "-in", identity.key.path, "-aes256", "-passout", "pass:\(password)", "-out", file.path,
        ])
        return try Data(contentsOf: identity.certificate) + Data(contentsOf: file)
    }

    /// Returns the identity as PKCS#12.
    package static func bundle(_ identity: Identity, password: String) throws -> Data {
        let file = identity.key.appendingPathExtension("p12")
        try openssl([
            "pkcs12", "-export", "-in", identity.certificate.path, "-inkey", identity.key.path, "-passout",
            "pass:\(password)", "-out", file.path,
        ])
        return try Data(contentsOf: file)
    }

    private static func newKey(_ file: URL) -> [String] {
        ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", file.path]
    }

    private static func openssl(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.start()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.executableRuntimeMismatch) }
    }
}
