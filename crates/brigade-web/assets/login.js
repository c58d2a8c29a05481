// Exchanges a token for a session.

const form = document.getElementById("form");
const problem = document.getElementById("problem");

async function logIn(token) {
  const button = form.querySelector("button");
  button.disabled = true;
  problem.textContent = "";
  try {
    const answer = await fetch("/api/login", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token }),
    });
    if (answer.status === 204) {
      location.replace("/");
      return;
    }
    const document = await answer.json();
    problem.textContent = document.error;
  } catch {
    problem.textContent = "The server does not answer. Does it still run?";
  }
  button.disabled = false;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  logIn(form.elements.token.value.trim());
});

// The link holds the token after `#`, which browsers send to no server.
const token = location.hash.slice(1);
if (token) {
  history.replaceState(null, "", "/login");
  form.elements.token.value = token;
  logIn(token);
}
