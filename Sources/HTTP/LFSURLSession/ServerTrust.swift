#if canImport(Security)
import Foundation
import LFSHTTP
import Security

/// The authorities of a PEM file (RFC 7468), which replace those of the system.
struct ServerTrust {
    private let authorities: [SecCertificate]

    /// - Throws: ``HTTPError/Code/untrusted`` if the file cannot be read or has no certificate.
    init(_ path: String) throws(HTTPError) {
        let text: String
        do {
            text = try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            throw HTTPError(.untrusted, message: "The certificate authorities in \(path) cannot be read.", cause: error)
        }
        authorities = Self.certificates(in: text)
        guard !authorities.isEmpty else {
            throw HTTPError(.untrusted, message: "\(path) has no certificate in PEM format.")
        }
    }

    private static func certificates(in text: String) -> [SecCertificate] {
        text.components(separatedBy: "-----BEGIN CERTIFICATE-----").dropFirst().compactMap { part in
            guard let end = part.range(of: "-----END CERTIFICATE-----"),
                let bytes = Data(base64Encoded: String(part[..<end.lowerBound]), options: .ignoreUnknownCharacters)
            else { return nil }
            return SecCertificateCreateWithData(nil, bytes as CFData)
        }
    }

    /// Requires that the server's certificate is from one of these authorities. The system's own policy, which includes
    /// the host's name, still applies.
    ///
    /// - Throws: ``HTTPError/Code/untrusted``.
    func evaluate(_ trust: SecTrust, host: String) throws(HTTPError) {
        guard SecTrustSetAnchorCertificates(trust, authorities as CFArray) == errSecSuccess,
            SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess, SecTrustEvaluateWithError(trust, nil)
        else {
            throw HTTPError(
                .untrusted, message: "\(host): The certificate is not from an authority of certificateAuthorities.")
        }
    }
}
#endif
