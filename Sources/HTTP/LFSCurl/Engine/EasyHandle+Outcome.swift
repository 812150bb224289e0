import CCurl
import LFSHTTP

extension EasyHandle {
    /// Returns the result of a transfer that libcurl has finished.
    func outcome(_ code: CURLcode) -> Result<HTTPResponse, any Error> {
        guard let transfer else { return .failure(Transfer.cancellation) }
        if let failure = transfer.failure { return .failure(failure) }
        guard code == CURLE_OK else { return .failure(error(code, origin: transfer.request.origin)) }
        var sent: curl_off_t = 0
        _ = lfs_easy_get_offset(raw, CURLINFO_SIZE_UPLOAD_T, &sent)
        transfer.sent(Int64(sent))
        if transfer.head?.isSuccess == true { transfer.accepted(transfer.bytesSent) }
        guard let response = transfer.response else {
            return .failure(HTTPError(.invalidReply, message: "\(transfer.request.origin.host) sent no reply."))
        }
        return .success(response)
    }

    /// The number of body bytes that the peer has acknowledged: the bytes that libcurl has written to the socket, minus
    /// those that the system still buffers. nil without a connection.
    ///
    /// The buffered bytes also contain the request's head and TLS overhead. The result is therefore slightly too low,
    /// by no more than the bytes in flight.
    var acceptedByteCount: Int64? {
        var port = 0
        // libcurl returns the socket only after the request has finished.
        guard lfs_easy_get_long(raw, CURLINFO_LOCAL_PORT, &port) == CURLE_OK, let socket = loop.socket(at: port) else {
            return nil
        }
        let held = lfs_socket_unacknowledged(socket)
        var sent: curl_off_t = 0
        guard held >= 0, lfs_easy_get_offset(raw, CURLINFO_SIZE_UPLOAD_T, &sent) == CURLE_OK else { return nil }
        return Int64(sent) - Int64(held)
    }

    private func error(_ code: CURLcode, origin: HTTPOrigin) -> HTTPError {
        let words = errorMessage.isEmpty ? String(cString: curl_easy_strerror(code)) : errorMessage
        let message = "\(origin.host): \(words)"
        if proxyStatus == 407 {
            return HTTPError(.wrongProtocol, message: "\(message). \(HTTPError.proxyAdvice)")
        }
        if isRefusal(code, words: words) {
            // libcurl asks for the address of the server, although the server has closed the connection.
            let cause = words.contains("getpeername") ? "" : "\(words). "
            let advice = HTTPError.certificateAdvice(isSet: hasCertificate)
            return HTTPError(.untrusted, message: "\(origin.host): \(cause)\(advice)")
        }
        return switch code {
        case CURLE_SSL_CERTPROBLEM where hasCertificate:
            HTTPError(
                .untrusted,
                message: """
                    The client certificate for \(origin.host) cannot be used: \(words). Check its password, and that \
                    it contains both the certificate and its private key.
                    """)
        case CURLE_SSL_CONNECT_ERROR where Self.isDisagreement(words):
            HTTPError(
                .wrongProtocol,
                message:
                    "\(message). Does the port speak https, and TLS 1.2 or newer? The request was sent to \(origin).")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT, CURLE_SSL_CONNECT_ERROR:
            HTTPError(.unreachable, message: message)
        case CURLE_OPERATION_TIMEDOUT:
            // Without a connection, the server cannot have been slow.
            HTTPError(isConnected ? .timeout : .unreachable, message: message)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CRL_BADFILE, CURLE_SSL_CLIENTCERT:
            HTTPError(.untrusted, message: message)
        case CURLE_URL_MALFORMAT:
            HTTPError(.invalidRequest, message: message)
        // CURLE_UNSUPPORTED_PROTOCOL is a reply without a head (HTTP/0.9).
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR:
            HTTPError(.invalidReply, message: message)
        default:
            HTTPError(.connectionLost, message: message)
        }
    }

    /// Returns true if the two sides have no TLS version or cipher in common, or one side does not speak TLS. A retry
    /// would not help.
    ///
    /// libcurl returns the same code for a connection that broke in the handshake, so this method examines OpenSSL's
    /// message.
    private static func isDisagreement(_ words: String) -> Bool {
        [
            "wrong version number", "packet length too long", "record layer failure", "http request",
            "unknown protocol", "unsupported protocol", "no protocols available", "alert protocol version",
            "alert handshake failure",
            "alert insufficient security", "no shared cipher",
        ].contains { words.contains($0) }
    }

    /// Returns true if the server has asked for a client certificate and ended the connection without a reply. A retry
    /// would not help.
    ///
    /// With TLS 1.3, the server examines the certificate after the client's handshake (RFC 8446, section 4.4.2.4). It
    /// may then reset the connection, so that its alert is lost.
    private func isRefusal(_ code: CURLcode, words: String) -> Bool {
        guard transfer?.head == nil else { return false }
        // The only reason for this alert (RFC 8446, section 6.2).
        if words.contains("alert certificate required") { return true }
        switch code {
        case CURLE_SSL_CONNECT_ERROR, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING:
            return isAskedForCertificate
        // libcurl reports the alert "certificate expired" like this if the server's own certificate is valid.
        case CURLE_PEER_FAILED_VERIFICATION: return words == "SSL certificate verification failed"
        default: return false
        }
    }

    /// The proxy's status for CONNECT, or 0 without a CONNECT.
    private var proxyStatus: Int {
        var status = 0
        _ = lfs_easy_get_long(raw, CURLINFO_HTTP_CONNECTCODE, &status)
        return status
    }

    private var isConnected: Bool {
        var microseconds: curl_off_t = 0
        _ = lfs_easy_get_offset(raw, CURLINFO_PRETRANSFER_TIME_T, &microseconds)
        return microseconds > 0
    }
}
