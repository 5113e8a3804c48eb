// Fetch.java URL: fetches it with the JDK's own HttpClient, prints what it got, and lets
// an error end it.  Java reads no proxy variables: the proxy is taken apart here.
import java.net.Authenticator;
import java.net.InetSocketAddress;
import java.net.PasswordAuthentication;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

class Fetch {
	static HttpClient.Builder through(URI proxy) {
		HttpClient.Builder b = HttpClient.newBuilder().proxy(
		    ProxySelector.of(new InetSocketAddress(proxy.getHost(), proxy.getPort())));
		if (proxy.getUserInfo() == null)
			return b;
		String[] said = proxy.getUserInfo().split(":", 2);
		return b.authenticator(new Authenticator() {
			protected PasswordAuthentication getPasswordAuthentication() {
				return new PasswordAuthentication(said[0], said[1].toCharArray());
			}
		});
	}

	public static void main(String[] args) throws Exception {
		HttpResponse<String> answer = through(URI.create(System.getenv("HTTPS_PROXY"))).build().send(
		    HttpRequest.newBuilder(URI.create(args[0])).build(), HttpResponse.BodyHandlers.ofString());
		System.out.println(answer.statusCode() + " " + answer.body());
	}
}
