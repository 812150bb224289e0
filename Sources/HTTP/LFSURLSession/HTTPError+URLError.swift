import Foundation
import LFSHTTP

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension HTTPError {
    /// Creates the error for a request that Foundation could not complete.
    ///
    /// Foundation's error contains the whole URL with its signature, so it is not kept as the cause.
    init(_ error: any Error, origin: HTTPOrigin) {
        if let error = error as? HTTPError {
            self = error
            return
        }
        guard let error = error as? URLError else {
            self.init(.connectionLost, message: "\(origin.host): The request failed with \((error as NSError).domain).")
            return
        }
        guard error.code.rawValue != Self.appTransportSecurity else {
            self.init(
                .invalidRequest,
                message: """
                    \(origin) is not encrypted, and the system permits that only for hosts in the app's Info.plist: \
                    use https, or add the host to NSAppTransportSecurity.
                    """)
            return
        }
        let words = error.localizedDescription.replacingOccurrences(of: "\n", with: " ")
        self.init(Self.code(error.code), message: "\(origin.host): \(words) (URLError \(error.code.rawValue))")
    }

    /// `NSURLErrorAppTransportSecurityRequiresSecureConnection`, which Linux's Foundation does not name.
    private static let appTransportSecurity = -1022

    private static func code(_ code: URLError.Code) -> Code {
        switch code {
        case .cancelled: .cancelled
        case .timedOut: .timeout
        // A handshake that fails may succeed later. Foundation does not say why it failed.
        case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet, .internationalRoamingOff,
            .dataNotAllowed, .callIsActive, .secureConnectionFailed:
            .unreachable
        case .serverCertificateHasBadDate, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
            .serverCertificateNotYetValid, .clientCertificateRejected, .clientCertificateRequired:
            .untrusted
        // The request's URL was checked, so an error about a URL is one of the reply. Linux's Foundation reports a
        // reply without a head in this way.
        case .badServerResponse, .cannotParseResponse, .cannotDecodeContentData, .cannotDecodeRawData, .badURL,
            .unsupportedURL:
            .invalidReply
        default: .connectionLost
        }
    }
}
